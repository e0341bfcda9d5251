//! How much to read at a time. A query that needs little reads little, and large values do not fill its memory.

/// The target bytes of what is read or made together.
const BYTES_TARGET: usize = 16 << 20;

/// The number of rows to read together. It grows as long as they stay small.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rows: usize,
    rows_max: usize,
}

impl Pace {
    pub const fn new(rows: usize, rows_max: usize) -> Self {
        Self { rows, rows_max }
    }

    /// The next number of rows; at least one.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// A view far away asks for more rows at once.
    pub fn at_least(&mut self, rows: usize) {
        self.rows = self.rows.max(rows);
    }

    /// Reports what some rows became or took. For each measure: how much it was, and how much is the target.
    pub fn took<const N: usize>(&mut self, rows: usize, measures: [(usize, usize); N]) {
        let fitting = measures.iter().map(|(taken, target)| rows.saturating_mul(*target) / (*taken).max(1)).min();
        self.rows = fitting.unwrap_or(usize::MAX).clamp(1, self.rows.saturating_mul(4)).min(self.rows_max);
    }
}

/// The target bytes of what a query reads together, if it may hold so many: an eighth of them, and at most 16 MB.
pub fn bytes_target(bytes_max: usize) -> usize {
    BYTES_TARGET.min(bytes_max / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_grow_fourfold_while_they_are_small() {
        let mut pace = Pace::new(32, 8192);
        let seen: Vec<usize> = (0..6)
            .map(|_| {
                pace.took(pace.rows(), [(10, bytes_target(1 << 30))]);
                pace.rows()
            })
            .collect();
        assert_eq!(seen, [128, 512, 2048, 8192, 8192, 8192]);
    }

    #[test]
    fn large_values_come_a_few_at_a_time() {
        let mut pace = Pace::new(2048, 8192);
        pace.took(2048, [(2048, 65_536), (2048 * 40_000, bytes_target(1 << 30))]);
        assert_eq!(pace.rows(), 419);
        pace.took(419, [(419 * 40_000, bytes_target(40 << 20))]);
        assert_eq!(pace.rows(), 131);
        // However little memory there is, one row is read.
        pace.took(131, [(131 * 40_000, bytes_target(3))]);
        assert_eq!(pace.rows(), 1);
    }

    #[test]
    fn a_view_far_away_asks_for_more() {
        let mut pace = Pace::new(1, 8192);
        pace.at_least(4096);
        assert_eq!(pace.rows(), 4096);
    }
}
