# Farad with Open MPI. From the root of the repository:
#
#     docker build -t farad .
#     docker run --rm --shm-size=1g farad mpirun -n 2 farad fmm bench --points 1e6 --distribution cube --tolerance 1e-5
#
# docs/clusters.md has more. Debian's release decides which Open MPI is inside: bookworm 4.1, trixie 5.0.
ARG DEBIAN=bookworm

FROM debian:${DEBIAN}-slim AS builder
# Debian's own Rust is older than what Cargo.toml asks for (rust-version).
ARG RUST=1.89.0
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates curl gcc libc6-dev libclang-dev libopenmpi-dev openmpi-bin \
    && rm -rf /var/lib/apt/lists/*
ENV RUSTUP_HOME=/opt/rustup CARGO_HOME=/opt/cargo PATH=/opt/cargo/bin:$PATH
RUN curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs \
    | sh -s -- -y --no-modify-path --profile minimal --default-toolchain "$RUST"
WORKDIR /farad
COPY . .
# Line numbers in backtraces are most of the program's size.
RUN CARGO_PROFILE_RELEASE_DEBUG=false cargo build --release --locked -p farad-cli --features mpi

FROM debian:${DEBIAN}-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends openmpi-bin \
    && rm -rf /var/lib/apt/lists/*
COPY --from=builder /farad/target/release/farad /usr/local/bin/
COPY LICENSE-APACHE LICENSE-MIT /usr/local/share/doc/farad/
# Containers give no right to read another process's memory, by which Open MPI 4 would pass long messages.
ENV OMPI_MCA_btl_vader_single_copy_mechanism=none
# mpirun does not run as root unless asked to.
RUN useradd --create-home farad
USER farad
WORKDIR /home/farad
CMD ["farad", "--help"]
