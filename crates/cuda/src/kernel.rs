//! Kernels with the arguments that they take: types and names that the compiler checks on this
//! side, and a test compares with the CUDA source.

use std::fmt;
use std::marker::PhantomData;

use crate::device::{Function, Grid};
use crate::{Device, Error, Source, Stream};

/// An address on the device, of elements that a kernel takes as `T`.
pub struct Pointer<T> {
    address: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Pointer<T> {
    pub(crate) fn new(address: u64) -> Self {
        Self { address, of: PhantomData }
    }

    /// What a kernel takes for an array that is not there.
    pub fn null() -> Self {
        Self::new(0)
    }

    /// The same address, of elements whose type is decided by macros of the kernel's source.
    pub fn cast<U>(self) -> Pointer<U> {
        Pointer::new(self.address)
    }
}

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

impl<T> fmt::Debug for Pointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

/// Types that kernels take arrays of.
pub trait Element {
    /// Their names in CUDA C++; several where one type here stands for several there.
    const C: &'static [&'static str];
}

/// Names the types that kernels take arrays of in CUDA C++.
#[macro_export]
macro_rules! elements {
    ($($type:ty: $($c:literal)|+),* $(,)?) => {
        $(impl $crate::Element for $type {
            const C: &'static [&'static str] = &[$($c),+];
        })*
    };
}

elements! {
    u32: "u32",
    u64: "u64" | "uint2",
    i64: "long long",
    f32: "float",
    f64: "double",
}

/// Numbers that stand one after the other.
impl<const N: usize> Element for [f64; N] {
    const C: &'static [&'static str] = &["double", "double2"];
}

impl<const N: usize> Element for [f32; N] {
    const C: &'static [&'static str] = &["float"];
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Names of its type in CUDA C++, or of what it points to.
    pub types: &'static [&'static str],
    /// Whether it is a pointer.
    pub pointer: bool,
}

/// One parameter of a kernel or several that follow one another.
///
/// # Safety
/// [`Self::words`] adds one word for each of [`Self::parameters`]: a value of that type in its
/// front bytes.
pub unsafe trait Argument: Copy {
    /// Adds what a kernel declares for it; `name` is that of a single parameter.
    fn parameters(name: &'static str, to: &mut Vec<Parameter>);

    /// Adds its value, in the front of a word.
    fn words(&self, to: &mut Vec<u64>);
}

macro_rules! scalars {
    ($($type:ty, $c:literal, $word:expr;)*) => {
        $(
            // SAFETY: little-endian, as every host of an NVIDIA GPU: a shorter value is the front
            // of its word.
            unsafe impl Argument for $type {
                fn parameters(name: &'static str, to: &mut Vec<Parameter>) {
                    to.push(Parameter { name, types: &[$c], pointer: false });
                }

                fn words(&self, to: &mut Vec<u64>) {
                    let word: fn($type) -> u64 = $word;
                    to.push(word(*self));
                }
            }
        )*
    };
}

scalars! {
    bool, "u32", u64::from;
    u32, "u32", u64::from;
    u64, "u64", |value| value;
    f64, "double", f64::to_bits;
}

// SAFETY: an address.
unsafe impl<T: Element> Argument for Pointer<T> {
    fn parameters(name: &'static str, to: &mut Vec<Parameter>) {
        to.push(Parameter { name, types: T::C, pointer: true });
    }

    fn words(&self, to: &mut Vec<u64>) {
        to.push(self.address);
    }
}

/// All arguments of a kernel; declared by [`kernels!`](crate::kernels).
pub trait Arguments: Argument {
    /// The file that has the kernel.
    const SOURCE: Source<'static>;
    /// The kernel's name there.
    const NAME: &'static str;
}

/// A kernel that takes the arguments `A`.
#[derive(Debug)]
pub struct Kernel<A> {
    function: Function,
    arguments: PhantomData<fn(A)>,
}

impl<A> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), arguments: PhantomData }
    }
}

impl<A: Arguments> Kernel<A> {
    /// The kernel for `device`, compiled with the macros `defines` (NAME=VALUE) and the constants
    /// of its file.
    ///
    /// # Errors
    /// [`Error::NoCompiler`], [`Error::Compile`], [`Error::Driver`].
    pub fn new(device: &Device, defines: &[String]) -> Result<Self, Error> {
        let function = device.module(&A::SOURCE, defines)?.function(A::NAME)?;
        Ok(Self { function, arguments: PhantomData })
    }

    /// Allows launches with up to `bytes` of dynamic shared memory; never fewer than before, since
    /// all users of the kernel share the limit.
    ///
    /// # Errors
    /// [`Error::Driver`] when the device has less.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), Error> {
        self.function.allow_shared(bytes)
    }

    /// Puts a launch on `stream`; a grid without blocks does nothing.
    ///
    /// # Safety
    /// The kernel's accesses stay inside buffers that live, as this kernel does, until it has run.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub unsafe fn launch(&self, stream: &Stream, grid: Grid, arguments: A) -> Result<(), Error> {
        let mut words = Vec::with_capacity(32);
        arguments.words(&mut words);
        // SAFETY: the words are the arguments that the kernel declares; the rest is the caller's
        // promise.
        unsafe { self.function.launch(stream, grid, &mut words) }
    }
}

/// Declares arguments that follow one another in several kernels: their names are those of the
/// parameters there.
#[macro_export]
macro_rules! arguments {
    ($(
        $(#[$meta:meta])*
        struct $name:ident { $($field:ident: $type:ty),* $(,)? }
    )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $name {
                $(pub(crate) $field: $type,)*
            }

            // SAFETY: one argument after the other.
            unsafe impl $crate::Argument for $name {
                fn parameters(_: &'static str, to: &mut Vec<$crate::Parameter>) {
                    $(<$type as $crate::Argument>::parameters(stringify!($field), to);)*
                }

                fn words(&self, to: &mut Vec<u64>) {
                    $($crate::Argument::words(&self.$field, to);)*
                }
            }
        )*
    };
}

/// Declares the kernels of a file under the folder `kernels/` of the crate that calls this, which
/// is embedded: the constants that it shares with this side, which every compilation gets as
/// macros, and for each kernel a struct of its arguments. The names of fields are those of the
/// kernel's parameters; fields that are structs of [`arguments!`](crate::arguments) stand for
/// several. A test is made that compares names, types and order with the file.
///
/// ```no_run
/// mod scale {
///     use cuda::Pointer;
///
///     cuda::kernels! {
///         "scale.cu", cuda::kernel_headers![];
///         constants {
///             THREADS: u32 = 256;
///         }
///         struct Scale = "scale" { values: Pointer<f64>, factor: f64, n: u32 }
///     }
/// }
///
/// let device = cuda::Device::open(0)?;
/// let values = device.upload(&[1.5; 1000])?;
/// let scale = scale::Scale { values: values.pointer(), factor: 2.0, n: 1000 };
/// let kernel = cuda::Kernel::new(&device, &[])?;
/// // SAFETY: four blocks take at least 1000 values, and the kernel stays below `n`.
/// unsafe { kernel.launch(device.stream(), cuda::Grid::new(4, scale::THREADS), scale)? };
/// assert_eq!(values.to_vec()?, [3.0; 1000]);
/// # Ok::<(), cuda::Error>(())
/// ```
#[macro_export]
macro_rules! kernels {
    (@f64 $constant:ident) => { $crate::Constant::Real($constant) };
    (@$of:ident $constant:ident) => { $crate::Constant::Whole($constant as i64) };
    (
        $file:literal, $headers:expr;
        $(constants { $($(#[$about:meta])* $constant:ident: $of:ident = $value:expr;)* })?
        $(
            $(#[$meta:meta])*
            struct $name:ident = $kernel:literal { $($field:ident: $type:ty),* $(,)? }
        )*
    ) => {
        $($($(#[$about])* pub(crate) const $constant: $of = $value;)*)?

        pub(crate) const SOURCE: $crate::Source<'static> = $crate::Source {
            name: $file,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $file)),
            headers: $headers,
            constants: &[$($((stringify!($constant), $crate::kernels!(@$of $constant))),*)?],
        };

        $(
            $crate::arguments! {
                $(#[$meta])*
                struct $name { $($field: $type),* }
            }

            impl $crate::Arguments for $name {
                const SOURCE: $crate::Source<'static> = SOURCE;
                const NAME: &'static str = $kernel;
            }
        )*

        #[cfg(test)]
        #[test]
        fn the_source_has_these_kernels() {
            $crate::testing::compare(&SOURCE, &[$($crate::testing::signature::<$name>()),*]);
            // Read by .ci/compile_kernels.py.
            println!("macros of {}: {:?}", SOURCE.name, SOURCE.macros().collect::<Vec<_>>());
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    arguments! {
        struct Inner { at: Pointer<f64>, n: u32 }
        struct Outer { factor: f64, inner: Inner, some: bool }
    }

    /// The example of `kernels!`.
    mod scale {
        use super::Pointer;

        kernels! {
            "scale.cu", crate::kernel_headers![];
            constants {
                THREADS: u32 = 256;
            }
            struct Scale = "scale" { values: Pointer<f64>, factor: f64, n: u32 }
        }
    }

    #[test]
    fn the_example_multiplies() {
        let open = || Device::open(0);
        let Some(device) = testing::device_for("the_example_multiplies", open).unwrap() else {
            return;
        };
        let values = device.upload(&[1.5; 1000]).unwrap();
        let kernel = Kernel::new(&device, &[]).unwrap();
        let scale = scale::Scale { values: values.pointer(), factor: 2.0, n: 1000 };
        // SAFETY: four blocks take at least 1000 values, and the kernel stays below `n`.
        unsafe { kernel.launch(device.stream(), Grid::new(4, scale::THREADS), scale).unwrap() };
        assert_eq!(values.to_vec().unwrap(), [3.0; 1000]);
    }

    #[test]
    fn arguments_within_arguments_follow_one_another() {
        let inner = Inner { at: Pointer::new(8), n: 3 };
        let (mut words, mut parameters) = (Vec::new(), Vec::new());
        Outer { factor: 1.0, inner, some: true }.words(&mut words);
        Outer::parameters("", &mut parameters);
        assert_eq!(words, [1.0f64.to_bits(), 8, 3, 1]);
        let names: Vec<_> = parameters.iter().map(|p| (p.name, p.types[0], p.pointer)).collect();
        let expected = [
            ("factor", "double", false),
            ("at", "double", true),
            ("n", "u32", false),
            ("some", "u32", false),
        ];
        assert_eq!(names, expected);
    }
}
