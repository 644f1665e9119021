//! Structs of options, each option declared once: [`options!`].

/// Declares a struct of options from rows `name: type = default`, each with a doc comment: public
/// fields, `Default`, and a setter per field that takes and returns the struct by value.
///
/// The struct is `#[non_exhaustive]`: other crates start from its default or from a clone, so that
/// new options break nothing.
#[macro_export]
macro_rules! options {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$field_about:meta])+ $field:ident: $type:ty = $default:expr,)+
        }
    ) => {
        $(#[$about])*
        #[non_exhaustive]
        #[must_use]
        pub struct $name {
            $($(#[$field_about])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $name {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](field@Self::", stringify!($field), ").")]
                pub fn $field(self, $field: $type) -> Self {
                    Self { $field, ..self }
                }
            )+
        }
    };
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
