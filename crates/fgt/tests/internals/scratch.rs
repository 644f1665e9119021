use fgt::internals::scratch::Scratch;

#[test]
fn arrays_come_back_to_where_they_fit() {
    let scratch = Scratch::default();
    let lengths = [100, 3000, 20];
    let arrays = lengths.map(|length| scratch.take(length));
    let places = [0, 1, 2].map(|i| (arrays[i].as_ptr(), lengths[i]));
    arrays.into_iter().for_each(|array| scratch.give(array));
    // Whatever the order, and whether they have exactly that length or a little more.
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
        for less in [0, 5] {
            let taken = order.map(|i| scratch.take(places[i].1 - less));
            for (i, array) in order.into_iter().zip(&taken) {
                assert_eq!((array.as_ptr(), array.len()), (places[i].0, places[i].1 - less));
            }
            taken.into_iter().for_each(|array| scratch.give(array));
        }
    }
    assert!(scratch.take(5000).len() == 5000 && scratch.zeros(50) == [0.0; 50]);
}
