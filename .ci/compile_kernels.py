"""Compiles every kernels/*.cu with NVRTC, which needs no GPU, for each architecture that Farad supports.

Headers in kernels/shared are passed by name, as the program does it. NVRTC comes from the package nvidia-cuda-nvrtc-cu12.
"""

import ctypes
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCHITECTURES = ["compute_75", "compute_80", "compute_90", "compute_120"]


def load():
    import nvidia.cuda_nvrtc

    folder = Path(next(iter(nvidia.cuda_nvrtc.__path__))) / "lib"
    return ctypes.CDLL(str(next(folder.glob("libnvrtc.so.*"))))


def log(nvrtc, program):
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, text)
    return text.value.decode()


def compile_kernel(nvrtc, path, headers, architecture):
    strings = lambda items: (ctypes.c_char_p * len(items))(*items)
    program = ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program),
        path.read_bytes(),
        path.name.encode(),
        len(headers),
        strings([header.read_bytes() for header in headers]),
        strings([str(header.relative_to(ROOT / "kernels")).encode() for header in headers]),
    )
    if status == 0:
        options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17"]
        status = nvrtc.nvrtcCompileProgram(program, len(options), strings(options))
    return status == 0, log(nvrtc, program)


def main():
    nvrtc = load()
    headers = sorted((ROOT / "kernels").glob("shared/*.cuh"))
    failed = False
    for path in sorted((ROOT / "kernels").glob("*.cu")):
        for architecture in ARCHITECTURES:
            passed, text = compile_kernel(nvrtc, path, headers, architecture)
            print(f"{path.name} {architecture}: {'ok' if passed else 'FAILED'}")
            if not passed:
                print(text, file=sys.stderr)
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
