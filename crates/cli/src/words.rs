//! Words that stand for values, in case files and on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A value that has a word.
pub(crate) trait Word: Copy + PartialEq + Send + Sync + 'static {
    /// All words.
    const WORDS: &'static [&'static str];
    /// What they mean, in the same order.
    const ALL: &'static [Self];

    /// Its word.
    fn word(self) -> &'static str {
        let index = Self::ALL.iter().position(|known| *known == self);
        index.and_then(|index| Self::WORDS.get(index)).copied().unwrap_or_default()
    }

    /// The value of a word.
    fn named(word: &str) -> Option<Self> {
        let index = Self::WORDS.iter().position(|known| *known == word);
        index.and_then(|index| Self::ALL.get(index)).copied()
    }
}

/// Gives each of a type's values a word.
macro_rules! words {
    ($type:ty { $($word:literal = $value:expr),+ $(,)? }) => {
        impl $crate::words::Word for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const ALL: &'static [Self] = &[$($value),+];
        }
    };
}

pub(crate) use words;

/// Reads a word on the command line; help says what each means, in the same order.
pub(crate) fn parser<W: Word>(
    meanings: &'static [&'static str],
) -> impl TypedValueParser<Value = W> {
    let possible = W::WORDS.iter().enumerate().map(|(index, word)| {
        let value = PossibleValue::new(*word);
        match meanings.get(index) {
            Some(meaning) => value.help(*meaning),
            None => value,
        }
    });
    PossibleValuesParser::new(possible.collect::<Vec<_>>())
        .try_map(|word| W::named(&word).ok_or("unknown word"))
}
