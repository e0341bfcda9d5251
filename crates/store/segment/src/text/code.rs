//! Huffman codes of at most 15 bits, as the trees that give wavelet trees their shape.

/// A node of the tree, or a symbol at one of its leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kid {
    Node(usize),
    Leaf(usize),
}

const LEAF: u16 = 1 << 15;

impl Kid {
    pub fn to_bytes(self) -> [u8; 2] {
        match self {
            Kid::Node(node) => (node as u16).to_le_bytes(),
            Kid::Leaf(symbol) => (symbol as u16 | LEAF).to_le_bytes(),
        }
    }

    #[inline]
    pub fn from_bytes(bytes: [u8; 2]) -> Self {
        match u16::from_le_bytes(bytes) {
            node if node & LEAF == 0 => Kid::Node(node.into()),
            leaf => Kid::Leaf((leaf & !LEAF).into()),
        }
    }
}

/// Longest code, in bits. With the bit that ends it, a code takes two bytes.
const LENGTH_MAX: u32 = 15;

pub struct Code {
    pub root: Kid,
    /// The kids of every node. A node comes before its kids.
    pub nodes: Vec<[Kid; 2]>,
    /// For each symbol, the turns from the root to its leaf, the first turn in the lowest bit, then a one. 0: no such symbol.
    pub codes: Vec<u16>,
}

impl Code {
    /// A code for symbols with these counts. Every symbol that occurs gets a code. A single symbol gets a code of no bits.
    pub fn new(counts: &[u32]) -> Self {
        let mut weights = counts.to_vec();
        loop {
            if let Some(code) = Self::within_length(&weights) {
                return code;
            }
            // Long codes need counts that are far apart. Halving them costs next to nothing, and always ends.
            weights.iter_mut().filter(|weight| **weight > 0).for_each(|weight| *weight = *weight / 2 + 1);
        }
    }

    /// Bits that the symbols take, if they occur as often as `counts` says.
    pub fn bits(&self, counts: &[u32]) -> usize {
        let lengths = self.codes.iter().map(|code| code.checked_ilog2().unwrap_or(0) as usize);
        lengths.zip(counts).map(|(length, &count)| length * count as usize).sum()
    }

    fn within_length(weights: &[u32]) -> Option<Self> {
        let (root, merged) = merge(weights);
        let mut code = Self { root, nodes: Vec::new(), codes: vec![0; weights.len()] };
        // A node's number is the order in which the stack gives it out, so that kids come after it.
        let mut stack = vec![(root, 0, 0u16, None)];
        while let Some((kid, depth, turns, parent)) = stack.pop() {
            if depth > LENGTH_MAX {
                return None;
            }
            let kid = match kid {
                Kid::Leaf(symbol) => {
                    code.codes[symbol] = turns | 1 << depth;
                    kid
                }
                Kid::Node(node) => {
                    let number = code.nodes.len();
                    code.nodes.push(merged[node]);
                    for side in [1, 0] {
                        let turns = turns | (side as u16).checked_shl(depth).unwrap_or(0);
                        stack.push((merged[node][side], depth + 1, turns, Some((number, side))));
                    }
                    Kid::Node(number)
                }
            };
            match parent {
                Some((number, side)) => code.nodes[number][side] = kid,
                None => code.root = kid,
            }
        }
        // Without any symbol, the root is a leaf of symbol 0, which does not occur.
        code.codes.iter_mut().zip(weights).for_each(|(code, &weight)| *code *= u16::from(weight > 0));
        Some(code)
    }
}

/// Huffman's algorithm over two queues: leaves sorted by weight, and merged nodes, which arise in the order of their weight.
fn merge(weights: &[u32]) -> (Kid, Vec<[Kid; 2]>) {
    let mut leaves: Vec<(u64, Kid)> = Vec::new();
    leaves.extend(weights.iter().enumerate().filter(|(_, w)| **w > 0).map(|(s, &w)| (w.into(), Kid::Leaf(s))));
    leaves.sort_by_key(|&(weight, _)| weight);
    let mut merged: Vec<(u64, [Kid; 2])> = Vec::new();
    let (mut leaf, mut node) = (0, 0);
    let mut lightest = |merged: &[(u64, [Kid; 2])]| match (leaves.get(leaf), merged.get(node)) {
        (Some(&least), made) if made.is_none_or(|made| least.0 <= made.0) => {
            leaf += 1;
            Some(least)
        }
        (_, Some(made)) => {
            node += 1;
            Some((made.0, Kid::Node(node - 1)))
        }
        _ => None,
    };
    loop {
        match (lightest(&merged), lightest(&merged)) {
            (Some(a), Some(b)) => merged.push((a.0 + b.0, [b.1, a.1])),
            (last, _) => {
                let root = last.map_or(Kid::Leaf(0), |(_, kid)| kid);
                return (root, merged.into_iter().map(|(_, kids)| kids).collect());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn follow(code: &Code, symbol: usize) -> Kid {
        let (mut kid, mut turns) = (code.root, code.codes[symbol]);
        while turns > 1 {
            let Kid::Node(node) = kid else { panic!("the code goes on after a leaf") };
            kid = code.nodes[node][usize::from(turns & 1)];
            assert!(!matches!(kid, Kid::Node(next) if next <= node));
            turns >>= 1;
        }
        kid
    }

    proptest! {
        #[test]
        fn every_code_leads_to_its_symbol(counts in prop::collection::vec(0u32..3000, 1..257)) {
            let code = Code::new(&counts);
            for (symbol, &count) in counts.iter().enumerate() {
                match count {
                    0 => prop_assert_eq!(code.codes[symbol], 0),
                    _ => prop_assert_eq!(follow(&code, symbol), Kid::Leaf(symbol)),
                }
            }
        }
    }

    #[test]
    fn codes_stay_short() {
        let mut counts = vec![1u32, 1];
        (2..30).for_each(|k| counts.push(counts[k - 1] + counts[k - 2]));
        let code = Code::new(&counts);
        assert!((0..30).all(|symbol| follow(&code, symbol) == Kid::Leaf(symbol)));
    }

    #[test]
    fn codes_are_as_short_as_can_be() {
        let counts = [5, 9, 12, 13, 16, 45];
        assert_eq!(Code::new(&counts).bits(&counts), 224);
        assert_eq!(Code::new(&[0, 7, 0]).bits(&[0, 7, 0]), 0);
    }
}
