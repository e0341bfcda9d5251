//! Something that vertices have beside their values.

/// What each vertex has, by its number: all of them, or those of a part, whose numbers are in order.
#[derive(Clone, Copy, Debug)]
pub enum ByNumber<'a, T> {
    All(&'a [T]),
    Part { numbers: &'a [u32], values: &'a [T] },
}

impl<T: Copy> ByNumber<'_, T> {
    /// What a vertex has; `None` if it is not there. O(1), or O(log vertices) in a part.
    pub fn of(&self, number: u32) -> Option<T> {
        match self {
            ByNumber::All(all) => all.get(number as usize).copied(),
            ByNumber::Part { numbers, values } => {
                numbers.binary_search(&number).ok().and_then(|place| values.get(place)).copied()
            }
        }
    }
}
