//! Compiles many mutants into one program: at each of some places of the numerics, drawn at random,
//! a switch chooses between what is written and a change of it (`src/switch.rs`).
//!
//!     mutants CHECKOUT SEED COUNT [LEAVE_OUT]
//!
//! changes the files of CHECKOUT (a copy) in place and prints one line a mutant: number, file,
//! line, what is written, what it becomes. LEAVE_OUT has numbers, one a line, that do not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Where numerics are, and what there is none.
const ROOMS: [&str; 8] = [
    "crates/farad/src",
    "crates/formats/src",
    "crates/surface/src",
    "crates/fgt/src",
    "crates/mesh/src",
    "crates/bem/src/near",
    "crates/bem/src/precondition",
    "crates/bem/src/physics",
];
const NOT: [&str; 22] = [
    "/tests", "/testing.rs", "/gpu/", "/gmsh/", "/files/", "/fastcap", "/gds", "error.rs", "fault.rs", "matrices.rs",
    "description.rs", "names.rs", "printable.rs", "network.rs", "wording.rs", "pqr.rs", "/pex25d/", "scene.rs",
    "team.rs", "shared.rs", "cost.rs", "independent.rs",
];

/// A place and what it may become.
struct Site {
    file: usize,
    bytes: Range<usize>,
    /// What is written and what it becomes, in words.
    words: [String; 2],
    change: Change,
}

enum Change {
    /// Text with `{}` where the number of the mutant goes.
    Here(String),
    /// A constant becomes a function of this name; it is used in the files of its crate.
    Constant(String),
}

struct Source {
    path: PathBuf,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
    numerics: bool,
}

impl Source {
    fn byte(&self, at: LineColumn) -> usize {
        let start = self.lines[at.line - 1];
        let line = &self.text[start..];
        start + line.char_indices().nth(at.column).map_or(line.len(), |(k, _)| k)
    }

    fn bytes(&self, span: Span) -> Range<usize> {
        self.byte(span.start())..self.byte(span.end())
    }

    fn text(&self, span: Span) -> &str {
        &self.text[self.bytes(span)]
    }

    fn crate_of(&self) -> &str {
        let path = self.path.to_str().expect("paths are text");
        path.split_once("crates/").map_or(path, |(_, rest)| rest.split('/').next().expect("a crate's folder"))
    }
}

struct Finder<'a> {
    file: usize,
    source: &'a Source,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn add(&mut self, whole: Span, words: [String; 2], instead: &str) {
        let bytes = self.source.bytes(whole);
        let written = &self.source.text[bytes.clone()];
        let change = Change::Here(format!("(if crate::mutant::on({{}}) {{ {instead} }} else {{ {written} }})"));
        self.sites.push(Site { file: self.file, bytes, words, change });
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| {
        a.path().is_ident("test") || a.path().is_ident("cfg") && a.meta.require_list().is_ok_and(|l| l.tokens.to_string().contains("test"))
    })
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            visit::visit_block(self, &item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() && !is_test(&item.attrs) {
            visit::visit_block(self, &item.block);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        // Texts are no numerics.
        let text = item.trait_.as_ref().is_some_and(|(_, path, _)| {
            path.segments.last().is_some_and(|s| ["Display", "Debug", "Error"].iter().any(|n| s.ident == n))
        });
        if !text {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let kind = self.source.text(item.ty.span());
        if !["f64", "f32", "usize"].contains(&kind) {
            return;
        }
        let value = self.source.text(item.expr.span()).to_string();
        let name = item.ident.to_string();
        let words = [format!("{name} = {value}"), format!("3 * ({value})")];
        let three = if kind == "usize" { "3" } else { "3.0" };
        let seen = self.source.text(item.vis.span());
        let change = format!(
            "#[allow(non_snake_case)] {seen} fn {name}() -> {kind} {{ if crate::mutant::on({{}}) {{ {three} * ({value}) }} else {{ {value} }} }}"
        );
        let first = if seen.is_empty() { item.const_token.span() } else { item.vis.span() };
        let bytes = self.source.byte(first.start())..self.source.byte(item.semi_token.span().end());
        self.sites.push(Site { file: self.file, bytes, words, change: Change::Constant(change) });
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_expr_repeat(&mut self, item: &'ast syn::ExprRepeat) {
        self.visit_expr(&item.expr);
    }

    fn visit_expr_binary(&mut self, item: &'ast syn::ExprBinary) {
        let other = match item.op {
            syn::BinOp::Add(_) => "-",
            syn::BinOp::Sub(_) => "+",
            syn::BinOp::Mul(_) => "/",
            syn::BinOp::Div(_) => "*",
            syn::BinOp::And(_) => "||",
            syn::BinOp::Or(_) => "&&",
            syn::BinOp::Lt(_) => ">=",
            syn::BinOp::Le(_) => ">",
            syn::BinOp::Gt(_) => "<=",
            syn::BinOp::Ge(_) => "<",
            syn::BinOp::Eq(_) => "!=",
            syn::BinOp::Ne(_) => "==",
            syn::BinOp::AddAssign(_) => "-=",
            syn::BinOp::SubAssign(_) => "+=",
            syn::BinOp::MulAssign(_) => "/=",
            syn::BinOp::DivAssign(_) => "*=",
            _ => "",
        };
        let lets = |e: &syn::Expr| matches!(e, syn::Expr::Let(_));
        if !other.is_empty() && !lets(&item.left) && !lets(&item.right) {
            let [left, right] = [item.left.span(), item.right.span()].map(|s| self.source.text(s).to_string());
            let written = self.source.text(item.span()).to_string();
            self.add(item.span(), [written, format!("{left} {other} {right}")], &format!("{left} {other} {right}"));
        }
        visit::visit_expr_binary(self, item);
    }

    fn visit_expr_unary(&mut self, item: &'ast syn::ExprUnary) {
        if !matches!(item.op, syn::UnOp::Deref(_)) {
            let inner = self.source.text(item.expr.span()).to_string();
            let written = self.source.text(item.span()).to_string();
            self.add(item.span(), [written, inner.clone()], &inner);
        }
        visit::visit_expr_unary(self, item);
    }

    fn visit_expr_lit(&mut self, item: &'ast syn::ExprLit) {
        if let syn::Lit::Float(value) = &item.lit {
            let (digits, suffix) = (value.base10_digits(), value.suffix());
            let zero = digits.parse::<f64>() == Ok(0.0);
            let digits = if digits.contains(['.', 'e']) { digits.to_string() } else { format!("{digits}.0") };
            let instead = if zero { format!("1.0{suffix}") } else { format!("3.0{suffix} * {digits}{suffix}") };
            self.add(item.span(), [value.to_string(), instead.clone()], &instead);
        }
    }

    fn visit_expr_method_call(&mut self, item: &'ast syn::ExprMethodCall) {
        let other = match item.method.to_string().as_str() {
            "min" => "max",
            "max" => "min",
            _ => "",
        };
        if !other.is_empty() && item.args.len() == 1 {
            let [left, right] = [item.receiver.span(), item.args[0].span()].map(|s| self.source.text(s).to_string());
            let written = self.source.text(item.span()).to_string();
            let instead = format!("{left}.{other}({right})");
            self.add(item.span(), [written, instead.clone()], &instead);
        }
        visit::visit_expr_method_call(self, item);
    }
}

/// The places of this identifier outside of `use` items.
fn places(tokens: TokenStream, name: &str, found: &mut Vec<Span>) {
    let mut in_use = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if !in_use => places(group.stream(), name, found),
            TokenTree::Ident(ident) if ident == "use" => in_use = true,
            TokenTree::Ident(ident) if !in_use && ident == name => found.push(ident.span()),
            TokenTree::Punct(p) if p.as_char() == ';' => in_use = false,
            _ => {}
        }
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, checkout, seed, count, rest @ ..] = &arguments[..] else {
        eprintln!("mutants CHECKOUT SEED COUNT [LEAVE_OUT]");
        std::process::exit(2);
    };
    let mut state: u64 = seed.parse().expect("a number");
    let count: usize = count.parse().expect("a number");
    let left_out: BTreeSet<usize> = rest
        .first()
        .map(|path| std::fs::read_to_string(path).expect("a readable file").lines().map(|l| l.parse().expect("a number")).collect())
        .unwrap_or_default();

    let root = Path::new(checkout);
    let crates: BTreeSet<&str> = ROOMS.iter().map(|r| r.split('/').nth(1).expect("a crate")).collect();
    let mut paths = Vec::new();
    for name in &crates {
        files(&root.join("crates").join(name).join("src"), &mut paths);
    }
    let sources: Vec<Source> = paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(k, _)| k + 1)).collect();
            let local = path.strip_prefix(root).expect("in the checkout").to_str().expect("text").to_string();
            let numerics = ROOMS.iter().any(|r| local.starts_with(r)) && !NOT.iter().any(|n| local.contains(n));
            Source { path, text, lines, numerics }
        })
        .collect();

    let mut sites = Vec::new();
    let mut constants: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (file, source) in sources.iter().enumerate() {
        let tree = syn::parse_file(&source.text).expect("a file that compiles");
        let mut finder = Finder { file, source, sites: Vec::new() };
        finder.visit_file(&tree);
        for site in finder.sites {
            if let Change::Constant(_) = site.change {
                let name = site.words[0].split(' ').next().expect("a name").to_string();
                *constants.entry((source.crate_of().to_string(), name)).or_default() += 1;
            }
            if source.numerics {
                sites.push(site);
            }
        }
    }
    // Constants that judge or tune are few among all places: a fifth of the mutants is theirs.
    let (all, others): (Vec<Site>, Vec<Site>) = sites.into_iter().partition(|s| matches!(s.change, Change::Constant(_)));
    let judges: Vec<Site> = all
        .into_iter()
        .filter(|s| {
            let name = s.words[0].split(' ').next().expect("a name").to_string();
            constants[&(sources[s.file].crate_of().to_string(), name)] == 1
        })
        .collect();
    eprintln!("{} places, {} constants", others.len(), judges.len());

    let mut chosen: Vec<Site> = Vec::new();
    for (mut from, wanted) in [(judges, count / 5), (others, count - count / 5)] {
        let mut taken = 0;
        while taken < wanted && !from.is_empty() {
            let site = from.swap_remove((random(&mut state) % from.len() as u64) as usize);
            let apart = |s: &Site| s.file != site.file || s.bytes.end <= site.bytes.start || site.bytes.end <= s.bytes.start;
            if chosen.iter().all(apart) {
                chosen.push(site);
                taken += 1;
            }
        }
    }

    let mut edits: BTreeMap<usize, Vec<(Range<usize>, String)>> = BTreeMap::new();
    for (number, site) in chosen.iter().enumerate() {
        let source = &sources[site.file];
        if left_out.contains(&number) {
            continue;
        }
        let line = source.lines.partition_point(|&l| l <= site.bytes.start);
        let local = source.path.strip_prefix(root).expect("in the checkout").display();
        let words = site.words.each_ref().map(|w| w.split_whitespace().collect::<Vec<_>>().join(" "));
        println!("{number}\t{local}\t{line}\t{}\t{}", words[0], words[1]);
        let (Change::Here(text) | Change::Constant(text)) = &site.change;
        let text = text.replacen("on({})", &format!("on({number})"), 1);
        edits.entry(site.file).or_default().push((site.bytes.clone(), text));
        if let Change::Constant(_) = site.change {
            let name = site.words[0].split(' ').next().expect("a name");
            for (file, other) in sources.iter().enumerate().filter(|(_, o)| o.crate_of() == source.crate_of()) {
                let mut found = Vec::new();
                places(other.text.parse().expect("tokens"), name, &mut found);
                for span in found {
                    let bytes = other.bytes(span);
                    let defines = file == site.file && site.bytes.contains(&bytes.start);
                    if !defines {
                        edits.entry(file).or_default().push((bytes, format!("{name}()")));
                    }
                }
            }
        }
    }
    for (file, mut list) in edits {
        let source = &sources[file];
        list.sort_by_key(|(bytes, _)| std::cmp::Reverse(bytes.start));
        let mut text = source.text.clone();
        // A constant within the text of a mutant is changed in both of its branches.
        let names: Vec<(Range<usize>, String)> = list.iter().filter(|(_, t)| t.ends_with("()")).cloned().collect();
        list.retain(|(b, t)| !t.ends_with("()") || !names_within(&chosen, file, b));
        for (bytes, mut new) in list {
            for (inner, to) in names.iter().filter(|(i, _)| bytes.start <= i.start && i.end <= bytes.end && *i != bytes) {
                let name = &source.text[inner.clone()];
                new = replaced(&new, name, to);
            }
            text.replace_range(bytes, &new);
        }
        std::fs::write(&source.path, text).expect("a writable file");
    }
    for name in crates {
        let lib = root.join("crates").join(name).join("src/lib.rs");
        let mut text = std::fs::read_to_string(&lib).expect("a readable file");
        let _ = write!(text, "\n#[allow(dead_code)]\nmod mutant;\n");
        std::fs::write(&lib, text).expect("a writable file");
        std::fs::write(lib.with_file_name("mutant.rs"), include_str!("switch.rs")).expect("a writable file");
    }
}

fn names_within(chosen: &[Site], file: usize, bytes: &Range<usize>) -> bool {
    chosen.iter().any(|s| s.file == file && s.bytes.start <= bytes.start && bytes.end <= s.bytes.end)
}

/// `name` as a whole word becomes `to`, where it is not yet.
fn replaced(text: &str, name: &str, to: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let after = &rest[at + name.len()..];
        let whole = !rest[..at].ends_with(word) && !after.starts_with(word) && !after.starts_with("()");
        result += &rest[..at];
        result += if whole { to } else { name };
        rest = after;
    }
    result + rest
}
