//! `farad report` and `--report`: what is on the page, what never gets onto it, and how it comes
//! and goes with the results.

use std::fmt::Write as _;

use crate::support::Workplace;

/// A name that would act if a page took it for markup.
const HOSTILE: &str = "<script>alert(1)</script>&'é";

/// Tetrahedra next to each other, each a group of its own, as MSH 2.2.
fn tetrahedra(names: &[String]) -> String {
    let count = names.len();
    let mut text = format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n{count}\n");
    for (index, name) in names.iter().enumerate() {
        writeln!(text, "2 {} \"{name}\"", index + 1).unwrap();
    }
    writeln!(text, "$EndPhysicalNames\n$Nodes\n{}", 4 * count).unwrap();
    for index in 0..count {
        let (x, y) = ((index % 20) as f64 * 2.0, (index / 20) as f64 * 2.0);
        for (k, [dx, dy, dz]) in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]].iter().enumerate() {
            let number = 4 * index + k + 1;
            writeln!(text, "{number} {} {} {dz}", x + f64::from(*dx), y + f64::from(*dy)).unwrap();
        }
    }
    writeln!(text, "$EndNodes\n$Elements\n{}", 4 * count).unwrap();
    for index in 0..count {
        for (k, [a, b, c]) in [[1, 3, 2], [1, 2, 4], [2, 3, 4], [1, 4, 3]].iter().enumerate() {
            let (first, group) = (4 * index, index + 1);
            let [a, b, c] = [a, b, c].map(|node| first + node);
            writeln!(text, "{} 2 2 {group} {group} {a} {b} {c}", first + k + 1).unwrap();
        }
    }
    text + "$EndElements\n"
}

/// The page without the viewer, whose names of namespaces are no addresses.
fn own_part(page: &str) -> &str {
    page.split("<script>").next().unwrap()
}

/// The page without pictures and data, whose letters may be any.
fn words(page: &str) -> String {
    let text = own_part(page).split("<script").next().unwrap();
    let parts = text.split(";base64,");
    parts.map(|part| part.split_once('"').map_or(part, |(_, rest)| rest)).collect()
}

/// Whether a page loads nothing, by what could load something.
#[track_caller]
fn assert_self_contained(page: &str) {
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("default-src 'none'"));
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    let namespace = "http://www.w3.org/1999/xhtml";
    assert_eq!(page.matches("http://").count(), page.matches(namespace).count());
    assert!(!page.contains("https://"));
    for word in ["<link", "<iframe", "@import", "url("] {
        assert!(!own_part(page).contains(word), "{word}");
    }
    for part in own_part(page).split(" src=\"").skip(1) {
        assert!(part.starts_with("data:image/png;base64,"), "{}", &part[..40]);
    }
    for part in own_part(page).split(" href=\"").skip(1) {
        assert!(part.starts_with(['#']) || part.starts_with("data:image/png;base64,"));
    }
}

#[test]
fn a_page_has_all_of_the_results() {
    let place = Workplace::new("report_content");
    place.generate("two-spheres --elements 400", "two.msh");
    place.case("two.toml", "two.msh", "");
    place.must("solve two.toml --report --accuracy 0.01");
    let page = place.read("two.out/report.html");
    assert_self_contained(&page);
    let results = place.json("two.out/results.json");
    assert!(results["files"].as_array().unwrap().contains(&"report.html".into()));
    // The case as it is, the version, the device, times, the meshes of the refinement.
    assert_eq!(results["case_text"], place.read("two.toml"));
    for part in [
        "file = &quot;two.msh&quot;",
        results["program"].as_str().unwrap(),
        "Residuals",
        "Refinement",
        "near field",
        "Maxwell matrix",
        "Complete",
        "left at 1 V",
        "C(left, right) = ",
        "<noscript>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Entries have their bars, to the digit that these are in.
    assert!(page.contains(" ± "), "no error bars");
    // Without JavaScript there is the picture, and data for the view in any case.
    assert!(page.contains("id=\"scene-picture\"") && page.contains("id=\"scene-data\""));

    // The same page of the folder alone, but for times of writing.
    place.must("report two.out --output again.html");
    let again = place.read("again.html");
    let data = |page: &str| page.split("id=\"scene-data\">").nth(1).unwrap().len();
    assert_eq!(data(&page), data(&again));
    let table = |page: &str| {
        page.split("<table>").nth(1).unwrap().split("</table>").next().unwrap().to_owned()
    };
    assert_eq!(table(&page), table(&again));
}

#[test]
fn names_and_titles_are_text() {
    let place = Workplace::new("report_hostile");
    let names: Vec<String> = (0..3).map(|i| format!("{HOSTILE}{i}")).collect();
    place.write("nets.msh", tetrahedra(&names));
    let title = format!("title = \"{HOSTILE}</title></style><img src=x>\"");
    let case = format!(
        "format = 1\n{title}\n# </pre></script>\n[mesh]\nfile = \"nets.msh\"\nunit = \"um\"\n"
    );
    place.write("nets.toml", case);
    place.must("solve nets.toml --report");
    let page = place.read("nets.out/report.html");
    assert_self_contained(&page);
    for bad in ["<script>alert", "</title></style>", "<img src=x", "</pre></script>"] {
        assert!(!page.contains(bad), "{bad}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#39;é0"));
    // In the viewer's data a name neither ends the script nor is anything else than itself.
    let about =
        page.split("id=\"scene-about\">").nth(1).unwrap().split("</script>").next().unwrap();
    let about: serde_json::Value = serde_json::from_str(about).unwrap();
    assert_eq!(about["bodies"][2]["name"], names[2].as_str());
    assert_eq!(about["fields"][1]["name"], format!("{} at 1 V", names[1]));
}

#[test]
fn many_conductors_fit() {
    let place = Workplace::new("report_many");
    let names: Vec<String> = (0..300).map(|i| format!("net {i}")).collect();
    place.write("nets.msh", tetrahedra(&names));
    place.case(
        "nets.toml",
        "nets.msh",
        "[solver]\ntolerance = 1e-3\n[output]\nvtk_excitations = 300",
    );
    place.must("solve nets.toml --report");
    let page = place.read("nets.out/report.html");
    assert_self_contained(&page);
    assert!(page.contains("Strongest couplings") && page.contains("net 299"));
    assert!(page.contains("image-rendering:pixelated"));
}

#[test]
fn what_is_not_to_be_trusted_is_said_first() {
    let place = Workplace::small("report_unconverged");
    place.case(
        "sphere.toml",
        "sphere.msh",
        "[solver]\nmethod = \"fmm\"\nmax_iterations = 1\ntolerance = 1e-10",
    );
    let ended = place.farad("solve sphere.toml --report");
    ended.fails(4, &["did not converge"]);
    let page = place.read("sphere.out/report.html");
    assert_self_contained(&page);
    let notice = page.find("Not converged").unwrap();
    assert!(notice < page.find("<section").unwrap() && notice < page.find("<dl").unwrap());
    assert!(page.contains("max iterations") && page.contains("There are no error bars"));
    assert!(page.contains("above the bound") && page.contains("<b>Error:</b>"));
}

#[test]
fn charges_alone_have_energies_and_no_matrix() {
    let place = Workplace::new("report_charges");
    let cases = crate::support::repository().join("cases");
    place.must(&format!("solve {} --output out --report", cases.join("kirkwood.toml").display()));
    let page = place.read("out/report.html");
    assert_self_contained(&page);
    assert!(page.contains("Solvation energy") && page.contains("kcal/mol"));
    assert!(page.contains("state of the case"));
    assert!(!page.contains("Maxwell matrix") && !words(&page).contains("NaN"));
}

#[test]
fn curved_triangles_are_cut_into_flat_ones() {
    let place = Workplace::new("report_curved");
    for order in [2, 3] {
        place.generate(&format!("sphere --elements 72 --order {order}"), &format!("s{order}.msh"));
        place.case("s.toml", &format!("s{order}.msh"), "[solver]\ndensity = \"linear\"");
        place.must("solve s.toml --report --output out --overwrite");
        let page = place.read("out/report.html");
        let about =
            page.split("id=\"scene-about\">").nth(1).unwrap().split("</script>").next().unwrap();
        let about: serde_json::Value = serde_json::from_str(about).unwrap();
        let triangles = place.json("out/results.json")["mesh"]["triangles"].as_u64().unwrap();
        assert_eq!(about["triangles"].as_u64(), Some(triangles * order * order));
    }
}

#[test]
fn no_surface_and_broken_surfaces_are_said() {
    let place = Workplace::small("report_surface");
    place.case(
        "sphere.toml",
        "sphere.msh",
        "[output]\nvtk = \"none\"\n[solver]\nerror_bars = false",
    );
    place.must("solve sphere.toml --report");
    let page = place.read("sphere.out/report.html");
    assert!(page.contains("have no surface to show") && !page.contains("<script>"));
    assert!(page.contains("Capacitance"));

    place.case("sphere.toml", "sphere.msh", "");
    place.must("solve sphere.toml");
    let surface = place.read("sphere.out/surface.vtu");
    place.write("sphere.out/surface.vtu", &surface[..surface.len() / 2]);
    place.must("report sphere.out");
    assert!(place.read("sphere.out/report.html").contains("The surface cannot be shown"));
}

/// A folder that somebody sends may have links to files of the one who makes the page.
#[cfg(unix)]
#[test]
fn what_links_lead_to_is_not_on_a_page() {
    use std::fs;
    use std::os::unix::fs::symlink;
    let place = Workplace::small("report_links");
    place.must("solve sphere.toml");
    for name in ["results.json", "case.resolved.toml", "residuals.csv"] {
        let file = place.path(&format!("sphere.out/{name}"));
        fs::rename(&file, place.path(name)).unwrap();
        symlink(format!("../{name}"), &file).unwrap();
        place
            .farad("report sphere.out")
            .fails(6, &[name, "is a link", "put the file in its place"]);
        assert!(!place.path("sphere.out/report.html").exists());
        fs::rename(place.path(name), &file).unwrap();
    }
    let file = place.path("sphere.out/surface.vtu");
    fs::rename(&file, place.path("surface.vtu")).unwrap();
    symlink("../surface.vtu", &file).unwrap();
    place.must("report sphere.out");
    let page = place.read("sphere.out/report.html");
    assert!(page.contains("surface.vtu is a link") && !page.contains("id=\"scene-data\""));
}

#[test]
fn older_results_have_a_page_of_what_is_there() {
    let place = Workplace::new("report_old");
    place.write(
        "old/results.json",
        r#"{"schema": "farad-results/1", "files": [], "status": "complete"}"#,
    );
    place.must("report old");
    let page = place.read("old/report.html");
    assert_self_contained(&page);
    assert!(page.contains("<h1>old</h1>") && page.contains("have no surface to show"));
}

#[test]
fn what_is_no_result_is_refused() {
    let place = Workplace::small("report_refused");
    place.farad("report sphere.toml").fails(6, &["sphere.toml", "is no folder", "case.out"]);
    place.farad("report nowhere").fails(6, &["nowhere", "is not there"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place.farad("report empty").fails(6, &["empty", "results.json"]);
    place.write("other/results.json", "{\"mine\": 1}");
    place.farad("report other").fails(3, &["other", "farad solve, study or sweep"]);
    place.write("other/results.json", "{");
    place.farad("report other").fails(3, &["results.json"]);
    assert_eq!(place.list("other"), ["results.json"]);
}

#[test]
fn a_page_comes_and_goes_with_its_results() {
    let place = Workplace::small("report_folder");
    place.must("solve sphere.toml");
    place.must("report sphere.out");
    place.must("report sphere.out");
    // New results without a page: the old one would be of other numbers.
    place.must("solve sphere.toml");
    assert!(!place.path("sphere.out/report.html").exists());
    place.must("solve sphere.toml --report");
    assert!(place.path("sphere.out/report.html").exists());
    place.must("solve sphere.toml");
    assert!(!place.path("sphere.out/report.html").exists());

    // A page of somebody else stays.
    place.write("sphere.out/report.html", "mine");
    place.farad("report sphere.out").fails(6, &["report.html", "--overwrite"]);
    place.farad("solve sphere.toml --report").fails(6, &["report.html", "--overwrite"]);
    place.must("solve sphere.toml");
    assert_eq!(place.read("sphere.out/report.html"), "mine");
    place.must("report sphere.out -o page.html");
    place.must("report sphere.out -o page.html");
    place.write("page.html", "mine");
    place.farad("report sphere.out -o page.html").fails(6, &["page.html", "--overwrite"]);
    place.must("report sphere.out --overwrite");
    assert_self_contained(&place.read("sphere.out/report.html"));
}

#[test]
fn studies_and_sweeps_have_pages() {
    let place = Workplace::small("report_many_runs");
    place.must("study sphere.toml --report");
    let page = place.read("sphere.study/report.html");
    assert_self_contained(&page);
    for part in ["Study of convergence", "extrapolated", "72 triangles", "Convergence"] {
        assert!(page.contains(part), "{part}");
    }
    place.case(
        "sphere.toml",
        "sphere.msh",
        "[[sweep]]\nname = \"eps <r>\"\nset = \"medium.relative_permittivity\"\nvalues = [1, 2, 4]",
    );
    place.must("sweep sphere.toml --report");
    let page = place.read("sphere.sweep/report.html");
    assert_self_contained(&page);
    for part in ["Over eps &lt;r&gt;", "Runs", "<polyline", "&lt;r&gt;"] {
        assert!(page.contains(part), "{part}");
    }
    place.must("report sphere.sweep");
}
