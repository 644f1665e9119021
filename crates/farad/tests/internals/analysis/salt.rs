use farad::internals::salt::{MOST_OF_FLUX, flux};

#[test]
fn fluxes_that_are_not_those_of_the_charges_are_reported() {
    assert_eq!(flux(0.5 * MOST_OF_FLUX), None);
    let found = flux(2.0 * MOST_OF_FLUX).unwrap();
    let part = "the flux through surfaces differs from the charges within by";
    assert!(found.message.contains(part), "{found:?}");
}
