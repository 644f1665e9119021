use surface::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let atoms: Vec<Atom> = text
        .lines()
        .filter(|l| l.starts_with("ATOM") || l.starts_with("HETATM"))
        .map(|l| {
            let w: Vec<&str> = l.split_whitespace().collect();
            let n = w.len();
            let f = |k: usize| w[n - k].parse::<f64>().unwrap();
            Atom { centre: [f(5), f(4), f(3)], radius: f(1) }
        })
        .collect();
    let kind = match a[2].as_str() {
        "ses" => Kind::SolventExcluded,
        "vdw" => Kind::VanDerWaals,
        "sas" => Kind::SolventAccessible,
        _ => Kind::Gaussian,
    };
    let t = std::time::Instant::now();
    let s = molecular(
        &atoms,
        &Options {
            kind,
            resolution: Resolution::Density(a[3].parse().unwrap()),
            ..Options::default()
        },
    )
    .unwrap();
    eprintln!("total {:?} atoms {} {:#?}", t.elapsed(), atoms.len(), s.info);
    let m = s.mesh;
    let t = std::time::Instant::now();
    let r = mesh::check::Report::of(&m).unwrap();
    eprintln!(
        "parts {} closed {} nonmanifold {} min angle {:?} area {} vol {}",
        r.components.len(),
        r.whole.closed,
        r.non_manifold_edges.len(),
        r.quality.min_angle,
        r.quality.area,
        r.whole.signed_volume
    );
    eprintln!("crossings {} in {:?}", mesh::intersect::intersections(&m).len(), t.elapsed());
    if let Some(out) = a.get(4) {
        let mut s = format!("OFF\n{} {} 0\n", m.vertices.len(), m.triangles.len());
        for v in &m.vertices {
            s += &format!("{} {} {}\n", v[0], v[1], v[2]);
        }
        for t in &m.triangles {
            s += &format!("3 {} {} {}\n", t[0], t[1], t[2]);
        }
        std::fs::write(out, s).unwrap();
    }
}
