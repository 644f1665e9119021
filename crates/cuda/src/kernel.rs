//! Kernels with the arguments that they take: types and names that the compiler checks on this
//! side, and a test compares with the CUDA source; lengths that every launch checks.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeFull;

use crate::device::{Function, Grid};
use crate::{Device, Error, Source, Stream};

/// An address on the device, of elements that a kernel takes as `T`, and how many follow it. The
/// kernel gets the address alone.
pub struct Pointer<T> {
    address: u64,
    len: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Pointer<T> {
    /// `len` elements from a device's address on; launches trust it.
    #[doc(hidden)]
    pub fn new(address: u64, len: usize) -> Self {
        Self { address, len, of: PhantomData }
    }

    /// What a kernel takes for an array that is not there.
    pub fn null() -> Self {
        Self::new(0, 0)
    }

    /// Whether there is no array, or nothing in it.
    pub fn is_null(self) -> bool {
        self.address == 0
    }

    /// The memory as elements of `size` bytes, whose type is decided by macros of the kernel's
    /// source.
    ///
    /// # Panics
    /// When `size` is 0.
    pub fn cast<U>(self, size: usize) -> Pointer<U> {
        Pointer::new(self.address, self.len * size_of::<T>() / size)
    }

    /// Refuses a launch whose kernel goes further, as [`arguments!`](crate::arguments) asks for.
    ///
    /// # Errors
    /// [`Error::TooShort`].
    pub fn check(
        self,
        argument: &'static str,
        length: impl Length,
        launch: Launch,
    ) -> Result<(), Error> {
        let (needed, there) = (length.known(), self.len);
        if needed <= there as u128 {
            return Ok(());
        }
        Err(Error::TooShort { kernel: launch.kernel, argument, needed, there })
    }
}

/// How many elements of an array a kernel touches, as far as its scalar arguments tell.
pub trait Length {
    /// At least this length.
    fn known(self) -> u128;
}

impl Length for u128 {
    fn known(self) -> u128 {
        self
    }
}

/// What is in memory decides.
impl Length for RangeFull {
    fn known(self) -> u128 {
        0
    }
}

/// A launch whose arguments are checked.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// The kernel's name, for errors.
    pub kernel: &'static str,
    /// Blocks along both dimensions of the grid.
    pub blocks: [u128; 2],
}

/// Arguments that say how long their arrays must be. A pointer alone does not: whoever declares it
/// has to.
pub trait Lengths {
    /// Compares that with how long they are.
    ///
    /// # Errors
    /// [`Error::TooShort`].
    fn check(&self, launch: Launch) -> Result<(), Error>;
}

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

impl<T> fmt::Debug for Pointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}[{}]", self.address, self.len)
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
    /// What expressions of lengths have for it: for whole numbers the widest type, which no product
    /// of a few overflows.
    type InLengths;

    /// Its value there.
    fn in_lengths(self) -> Self::InLengths;

    /// Adds what a kernel declares for it; `name` is that of a single parameter.
    fn parameters(name: &'static str, to: &mut Vec<Parameter>);

    /// Adds its value, in the front of a word.
    fn words(&self, to: &mut Vec<u64>);
}

macro_rules! scalars {
    ($($type:ty, $c:literal, $word:expr, $wide:ty;)*) => {
        $(
            // SAFETY: little-endian, as every host of an NVIDIA GPU: a shorter value is the front
            // of its word.
            unsafe impl Argument for $type {
                type InLengths = $wide;

                fn in_lengths(self) -> $wide {
                    self.into()
                }

                fn parameters(name: &'static str, to: &mut Vec<Parameter>) {
                    to.push(Parameter { name, types: &[$c], pointer: false });
                }

                fn words(&self, to: &mut Vec<u64>) {
                    let word: fn($type) -> u64 = $word;
                    to.push(word(*self));
                }
            }

            impl Lengths for $type {
                fn check(&self, _: Launch) -> Result<(), Error> {
                    Ok(())
                }
            }
        )*
    };
}

scalars! {
    bool, "u32", u64::from, u128;
    u32, "u32", u64::from, u128;
    u64, "u64", |value| value, u128;
    f64, "double", f64::to_bits, f64;
}

// SAFETY: an address.
unsafe impl<T: Element> Argument for Pointer<T> {
    type InLengths = Self;

    fn in_lengths(self) -> Self {
        self
    }

    fn parameters(name: &'static str, to: &mut Vec<Parameter>) {
        to.push(Parameter { name, types: T::C, pointer: true });
    }

    fn words(&self, to: &mut Vec<u64>) {
        to.push(self.address);
    }
}

/// All arguments of a kernel; declared by [`kernels!`](crate::kernels).
pub trait Arguments: Argument + Lengths {
    /// The file that has the kernel.
    const SOURCE: Source;
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
    /// Where what is in memory, or a macro, decides how far the kernel goes, it stays inside the
    /// buffers; that they have the lengths declared is checked here. They live, as this kernel
    /// does, until it has run.
    ///
    /// # Errors
    /// [`Error::TooShort`], and [`Error::Driver`].
    pub unsafe fn launch(&self, stream: &Stream, grid: Grid, arguments: A) -> Result<(), Error> {
        if grid.blocks.contains(&0) {
            return Ok(());
        }
        arguments.check(Launch { kernel: A::NAME, blocks: grid.blocks.map(u128::from) })?;
        let mut words = Vec::with_capacity(32);
        arguments.words(&mut words);
        // SAFETY: the words are the arguments that the kernel declares, whose lengths were checked;
        // the rest is the caller's promise.
        unsafe { self.function.launch(stream, grid, &mut words) }
    }
}

/// Declares arguments that follow one another in several kernels: their names are those of the
/// parameters there. Lengths are stated as in [`kernels!`](crate::kernels).
#[macro_export]
macro_rules! arguments {
    (@check $launch:ident, $argument:expr, $field:ident) => {
        $crate::Lengths::check(&$argument, $launch)?;
    };
    (@check $launch:ident, $argument:expr, $field:ident [$length:expr]) => {
        $argument.check(stringify!($field), $length, $launch)?;
    };
    (@check $launch:ident, $argument:expr, $field:ident [$length:expr] or null) => {
        if !$argument.is_null() {
            $argument.check(stringify!($field), $length, $launch)?;
        }
    };
    ($(
        $(#[$meta:meta])*
        struct $name:ident $([$blocks:pat_param, $columns:pat_param])? {
            $($field:ident: $type:ty $([$length:expr] $(or $null:ident)?)?),* $(,)?
        }
    )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $name {
                $(pub(crate) $field: $type,)*
            }

            // SAFETY: one argument after the other.
            unsafe impl $crate::Argument for $name {
                type InLengths = Self;

                fn in_lengths(self) -> Self {
                    self
                }

                fn parameters(_: &'static str, to: &mut Vec<$crate::Parameter>) {
                    $(<$type as $crate::Argument>::parameters(stringify!($field), to);)*
                }

                fn words(&self, to: &mut Vec<u64>) {
                    $($crate::Argument::words(&self.$field, to);)*
                }
            }

            impl $crate::Lengths for $name {
                #[allow(unused_variables, reason = "lengths depend on some of them")]
                fn check(&self, launch: $crate::Launch) -> Result<(), $crate::Error> {
                    $(let [$blocks, $columns] = launch.blocks;)?
                    $(let $field = $crate::Argument::in_lengths(self.$field);)*
                    $($crate::arguments!(
                        @check launch, self.$field, $field $([$length] $(or $null)?)?
                    );)*
                    Ok(())
                }
            }
        )*
    };
}

/// Declares the kernels of a [`File`](kernels::File): the constants that it shares with this side,
/// which every compilation gets as macros, and for each kernel a struct of its arguments. The names
/// of fields are those of the kernel's parameters; fields that are structs of
/// [`arguments!`](crate::arguments) stand for several. `declared()` is for a test that compares
/// names, types and order with the file ([`testing::compare_all`](crate::testing::compare_all)).
///
/// Behind a pointer stands in brackets how many elements the kernel touches, which every launch
/// compares with how many there are: an expression of whole numbers among the other arguments, all
/// of which are `u128` there (those of a struct of several have their own types), and of the grid's
/// blocks along its two dimensions, to which brackets behind the kernel's name give names. `[..]`:
/// what is in other arrays says that, and whoever launches the kernel answers for it. `or null`
/// behind the brackets: the array may also be missing.
///
/// ```no_run
/// mod scale {
///     use cuda::Pointer;
///
///     cuda::kernels! {
///         kernels::cuda::SCALE;
///         constants {
///             THREADS: u32 = 256;
///         }
///         struct Scale = "scale" { values: Pointer<f64> [n], factor: f64, n: u32 }
///     }
/// }
///
/// let device = cuda::Device::open(0)?;
/// let values = device.upload(&[1.5; 1000])?;
/// let scale = scale::Scale { values: values.pointer(), factor: 2.0, n: 1000 };
/// let kernel = cuda::Kernel::new(&device, &[])?;
/// // SAFETY: the kernel stays below `n`, which is checked; `values` outlive it.
/// unsafe { kernel.launch(device.stream(), cuda::Grid::new(4, scale::THREADS), scale)? };
/// assert_eq!(values.to_vec()?, [3.0; 1000]);
/// # Ok::<(), cuda::Error>(())
/// ```
#[macro_export]
macro_rules! kernels {
    (@f64 $constant:ident) => { $crate::Constant::Real($constant) };
    (@$of:ident $constant:ident) => { $crate::Constant::Whole($constant as i64) };
    (
        $file:expr;
        $(constants { $($(#[$about:meta])* $constant:ident: $of:ident = $value:expr;)* })?
        $(
            $(#[$meta:meta])*
            struct $name:ident = $kernel:literal $([$blocks:pat_param, $columns:pat_param])? {
                $($field:ident: $type:ty $([$length:expr] $(or $null:ident)?)?),* $(,)?
            }
        )*
    ) => {
        $($($(#[$about])* pub(crate) const $constant: $of = $value;)*)?

        pub(crate) const SOURCE: $crate::Source = $crate::Source {
            file: $file,
            constants: &[$($((stringify!($constant), $crate::kernels!(@$of $constant))),*)?],
        };

        $(
            $crate::arguments! {
                $(#[$meta])*
                struct $name $([$blocks, $columns])? {
                    $($field: $type $([$length] $(or $null)?)?),*
                }
            }

            impl $crate::Arguments for $name {
                const SOURCE: $crate::Source = SOURCE;
                const NAME: &'static str = $kernel;
            }
        )*

        /// The file and what is declared for it, which tests compare.
        pub(crate) fn declared() -> $crate::testing::Declared {
            (SOURCE, vec![$($crate::testing::signature::<$name>()),*])
        }
    };
}
