//! The program `farad`.

fn main() {}
