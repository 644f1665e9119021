//! Requirements that each case must meet.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::build;
use super::features::{Features, List};
use super::outcome::{self, Ended, Outcome, Quantity, Scales, Way};
use super::random::Random;
use super::scene::Scene;
use super::variants::{self, Variant};

/// Results may differ by this multiple of the tolerance.
pub const BOUND: f64 = 10.0;

/// How one check of a case went.
#[derive(Clone, Debug)]
pub struct Check {
    pub name: &'static str,
    pub method: &'static str,
    /// Deviations over what they may be.
    pub ratios: BTreeMap<Quantity, f64>,
    /// What the program said if it did not come to an end.
    pub message: Option<String>,
}

impl Check {
    /// The largest ratio; infinite if there are no numbers.
    pub fn worst(&self) -> f64 {
        let largest = self.ratios.values().fold(0.0f64, |m, r| m.max(*r));
        if self.message.is_some() { f64::INFINITY } else { largest }
    }

    pub fn failed(&self) -> bool {
        self.worst() > 1.0
    }
}

/// How a case went.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub index: usize,
    pub features: Features,
    pub checks: Vec<Check>,
    /// Why there is nothing to check: nothing was built, or the program refused it.
    pub refused: Option<String>,
    /// Whether self-checks call its mesh too coarse for the requested results.
    pub is_coarse: bool,
    /// Where it is.
    pub folder: PathBuf,
}

impl Verdict {
    pub fn failed(&self) -> bool {
        self.refused.is_some() || self.checks.iter().any(Check::failed)
    }
}

/// What this machine can do besides the usual.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub simd: Vec<&'static str>,
    pub backends: Vec<&'static str>,
}

impl Machine {
    /// What the program says it can do.
    pub fn of_this() -> Self {
        let runs = |level: &str| outcome::farad(&["info"], &[("FARAD_SIMD", level)]).is_ok();
        // A program that takes any value knows nothing of levels.
        let knows_levels = !runs("none");
        let levels = ["baseline", "avx2", "avx512"].into_iter();
        let simd = levels.filter(|level| knows_levels && runs(level)).collect();
        let has_gpu = outcome::farad(&["info"], &[]).is_ok_and(|text| text.contains("gpu 0"));
        let backends = if has_gpu { vec!["cuda", "hybrid"] } else { Vec::new() };
        Self { simd, backends }
    }

    /// Steps done besides the usual ones, and steps left out.
    pub fn text(&self) -> String {
        let list = |names: &[&str]| {
            if names.is_empty() { "none (skipped)".to_owned() } else { names.join(", ") }
        };
        format!("SIMD levels: {}; GPU backends: {}", list(&self.simd), list(&self.backends))
    }
}

/// The check that no case goes without.
const FIRST: &str = "fast = dense";

/// Which of several ways a case takes where one is enough.
fn either(random: &mut Random) -> &'static str {
    random.of_these(&["dense", "fmm"])
}

/// Builds and runs case `index` of a list, asked in the first and in one of `share` of the other
/// ways.
pub fn judge(
    list: List,
    index: usize,
    features: &Features,
    share: usize,
    machine: &Machine,
    folder: &Path,
) -> Verdict {
    let mut random = Random::of(list.seed, index as u64);
    let folder = folder.join(format!("{}_{index}", list.seed));
    let mut verdict = Verdict {
        index,
        features: features.clone(),
        checks: Vec::new(),
        refused: None,
        is_coarse: false,
        folder: folder.clone(),
    };
    let Some(scene) = build::scene(features, &mut random) else {
        verdict.refused = Some("no such case was found".to_owned());
        return verdict;
    };
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    scene.write(&folder, "dense");
    let reference = match outcome::run(&folder, "dense", &Way::new("dense")) {
        Ok(outcome) => outcome,
        Err(ended) => {
            verdict.refused = Some(text(&ended));
            return verdict;
        }
    };
    verdict.is_coarse = reference.is_coarse;
    let judge = Judge { folder, scales: Scales::of(&scene, &reference), scene, reference };
    // Cases differ in which ways they have.
    let mut number = index / share;
    let mut asked = judge.asked(machine, &mut random);
    asked.retain(|asked| {
        number += 1;
        asked.name == FIRST || number.is_multiple_of(share)
    });
    let at_once = super::environment("FARAD_MATRIX_CHECKS").unwrap_or(1);
    verdict.checks = super::each(&asked, at_once, |asked| judge.check(asked));
    verdict
}

fn text(ended: &Ended) -> String {
    format!("exit {}: {}", ended.code, ended.message.trim())
}

struct Judge {
    folder: PathBuf,
    scene: Scene,
    reference: Outcome,
    scales: Scales,
}

/// A check to be done: what it is called, the name of its file, the case said another way, and how
/// it is solved.
struct Asked {
    name: &'static str,
    file: &'static str,
    variant: Variant,
    way: Way,
}

impl Judge {
    /// What there is to check, in the order in which random numbers are drawn.
    fn asked(&self, machine: &Machine, random: &mut Random) -> Vec<Asked> {
        let ask = |name, file, variant, way| Asked { name, file, variant, way };
        let same = |scene: &Scene| Variant { scene: scene.clone(), back: Box::new(Outcome::clone) };
        let scene = &self.scene;
        let mut asked = vec![ask(FIRST, "fast", same(scene), Way::new("fmm"))];
        if let Some(whole) = variants::whole(scene) {
            asked.push(ask("whole = part", "whole", whole, Way::new(either(random))));
        }
        let turned = variants::turned(scene, random);
        asked.push(ask("turned", "turned", turned, Way::new(either(random))));
        let factor = random.of_these(&[1e-9, 1e9]);
        let scaled = variants::scaled_by(scene, factor, ("m", 1.0));
        asked.push(ask("scaled", "scaled", scaled, Way::new(either(random))));
        let unit = random.of_these(&[("nm", 1e-9), ("um", 1e-6), ("mm", 1e-3), ("cm", 1e-2)]);
        let other = variants::scaled_by(scene, unit.1, unit);
        asked.push(ask("other unit", "unit", other, Way::new(either(random))));
        let far = random.log_between(1.0, 1e4) * scene.size();
        let shifted = variants::shifted(scene, random.direction().map(|x| far * x));
        asked.push(ask("shifted", "shifted", shifted, Way::new(either(random))));
        let renumbered = variants::renumbered(scene, false, random);
        asked.push(ask("renumbered", "renumbered", renumbered, Way::new(either(random))));
        let flipped = variants::renumbered(scene, true, random);
        asked.push(ask("flipped", "flipped", flipped, Way::new(either(random))));
        if let Some(relisted) = variants::relisted(scene) {
            asked.push(ask("relisted", "relisted", relisted, Way::new(either(random))));
        }
        if let Some(by_sides) = variants::by_sides(scene) {
            asked.push(ask("by surfaces", "surfaces", by_sides, Way::new(either(random))));
        }
        if let Some(by_strength) = variants::by_strength(scene) {
            asked.push(ask("by strength", "strength", by_strength, Way::new(either(random))));
        }
        for &level in &machine.simd {
            let way = Way { simd: Some(level), ..Way::new("fmm") };
            let name = match level {
                "baseline" => "SIMD baseline",
                "avx2" => "SIMD avx2",
                _ => "SIMD avx512",
            };
            asked.push(ask(name, level, same(scene), way));
        }
        for &backend in &machine.backends {
            let way = Way { backend, ..Way::new("fmm") };
            asked.push(ask(backend, backend, same(scene), way));
        }
        asked
    }

    fn check(&self, asked: &Asked) -> Check {
        let Asked { name, file, variant, way } = asked;
        let file = format!("{file}_{}", way.method);
        variant.scene.write(&self.folder, &file);
        match outcome::run(&self.folder, &file, way) {
            Ok(found) => {
                let found = (variant.back)(&found);
                let mesh = |scene: &Scene| (scene.vertices.clone(), scene.triangles.clone());
                let is_same = mesh(&variant.scene) == mesh(&self.scene);
                let scales = if is_same { self.scales.clone() } else { self.scales.without_bars() };
                let deviations = outcome::deviations(&self.reference, &found, &scales);
                let allowed = BOUND * self.scene.tolerance;
                let ratios = deviations.into_iter().map(|(q, d)| (q, d / allowed)).collect();
                Check { name, method: way.method, ratios, message: None }
            }
            Err(ended) => {
                let message = Some(text(&ended));
                Check { name, method: way.method, ratios: BTreeMap::new(), message }
            }
        }
    }
}
