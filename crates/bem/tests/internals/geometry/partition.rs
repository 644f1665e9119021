//! Panels distributed over ranks, and the panels of one.

use std::borrow::Cow;

use bem::internals::geometry::{Panels, Partition};
use mesh::generate::{Resolution, Sphere, SphereBase};

fn panels() -> Panels {
    let resolution = Resolution::Elements(320);
    let sphere = Sphere { radius: 1.0, base: SphereBase::Icosahedron, resolution };
    Panels::of_mesh(&sphere.build().unwrap())
}

/// Values that differ on all panels, shape (2, panels).
fn values(n: usize) -> Vec<f64> {
    (0..2 * n).map(|i| (i as f64 + 1.0).sqrt()).collect()
}

#[test]
fn a_group_of_one_copies_nothing() {
    let panels = panels();
    let n = panels.len();
    let reach = || unreachable!("a group of one has no neighbours to find");
    for partition in [Partition::whole(n), Partition::new(&comm::alone(), &panels, reach).unwrap()]
    {
        let x = values(n);
        assert!(matches!(partition.local_of(&x), Cow::Borrowed(_)));
        assert!(matches!(partition.owned_of(&x), Cow::Borrowed(_)));
        assert!(matches!(partition.masked(&x), Cow::Borrowed(_)));
        assert!(matches!(partition.refreshed(&x).unwrap(), Cow::Borrowed(_)));
        let mut y = x.clone();
        let place = y.as_ptr();
        let fill = |own: &mut [f64]| {
            assert_eq!((own.as_ptr(), own.len()), (place, 2 * n));
            Ok(())
        };
        partition.fill_owned(&mut y, fill).unwrap();
        partition.fill_all(&mut y, fill).unwrap();
        assert_eq!(y, x);
        assert_eq!((partition.global(n + 3), partition.owned_position(3)), (n + 3, Some(3)));
        assert!(partition.is_owned(n - 1) && partition.indices_of_owned(2).is_none());
    }
}

#[test]
fn ranks_have_their_panels_and_fetch_the_values_of_their_halo() {
    let panels = panels();
    let (n, reach) = (panels.len(), vec![0.3; panels.total()]);
    let all = values(n);
    let owned: Vec<usize> = comm::run(3, |group| {
        let partition = Partition::new(group, &panels, || reach.clone()).unwrap();
        let local = partition.local_of(&all).into_owned();
        let m = partition.local_len();
        assert!(local.len() == 2 * m && m < n);
        (0..2 * m).for_each(|i| assert_eq!(local[i], all[partition.global(i)]));
        let of_owned = partition.owned_of(&local).into_owned();
        let owned = (0..m).filter(|&i| partition.is_owned(i)).count();
        assert!(of_owned.len() == 2 * owned && owned < m, "{owned} of {m}");

        // Only owned values are there, until those of the halo are fetched.
        let mut fetched = vec![f64::NAN; 2 * m];
        let fill = |own: &mut [f64]| {
            own.copy_from_slice(&of_owned);
            Ok(())
        };
        partition.fill_owned(&mut fetched, fill).unwrap();
        for (i, value) in fetched.iter().enumerate() {
            assert_eq!(*value, if partition.is_owned(i % m) { local[i] } else { 0.0 });
        }
        assert_eq!(*partition.refreshed(&fetched).unwrap(), local);

        let mut gathered = vec![f64::NAN; 2 * n];
        let fill = |values: &mut [f64]| {
            values.copy_from_slice(&fetched);
            Ok(())
        };
        partition.fill_all(&mut gathered, fill).unwrap();
        assert_eq!(gathered, all);

        // Each panel counts once over all ranks.
        let mut count = [partition.masked(&vec![1.0; n]).iter().sum()];
        partition.sum(&mut count).unwrap();
        assert_eq!(count, [n as f64]);
        owned
    });
    assert_eq!(owned.iter().sum::<usize>(), n);
}
