//! A sequence of symbols that answers two questions: which symbol is at a position, and how often a symbol occurs before it.
//!
//! The sequence is cut into blocks of 2^k symbols. Each block is a wavelet tree in the shape of its own Huffman code. A block of a
//! Burrows–Wheeler transform has few contexts, so its own code is much shorter than one code for all blocks (Kärkkäinen and
//! Puglisi, "Fixed block compression boosting in FM-indexes", SPIRE 2011). Shorter codes take fewer steps to follow. The writer
//! takes the k that makes the sequence smallest.
//!
//! ```text
//!   lines  32 each          the bits of all trees; each block starts a line
//!   directory 10 a block    first node 4 | first line 4 | root 2
//!   entries 6 a block and symbol
//!                           base 4: smaller symbols in the sequence, plus this symbol's occurrences in earlier blocks
//!                           code 2: turns from the root, the first in the lowest bit, and a one above; 0 if not there
//!   nodes  10 each          first bit 4, from the block's first line | ones 2: before it in the block, modulo 2^16
//!                           | kids 2 × 2
//! ```
//! A root or kid is either the number of a node, counted from the block's first, or 2^15 plus a symbol. One block, possibly empty,
//! follows the last full one, so that counts up to the very end have a place. A node holds one bit for every symbol below it, in
//! order: the kid to which the symbol belongs. Blocks are at most 2^16 symbols long, so counts within a node are right although
//! they wrap.
//!
//! Invariants: a node comes before its kids, so a walk ends. A position at a leaf is the number of earlier occurrences of its
//! symbol, so one walk gives both the symbol and the count.

use super::Corrupt;
use super::bits::{LINE_BITS, LINE_BYTES, Line, LineWriter, rank, split_records};
use super::code::{Code, Kid};

pub const BLOCK_LOG2_MIN: u32 = 12;
pub const BLOCK_LOG2_MAX: u32 = 16;
const DIRECTORY_BYTES: usize = 10;
const ENTRY_BYTES: usize = 6;
const NODE_BYTES: usize = 10;

/// What a reader must know to find the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Symbols in the sequence.
    pub len: usize,
    /// The number of different symbols. They are the integers below it.
    pub symbols: usize,
    pub block_log2: u32,
    pub lines: usize,
    pub nodes: usize,
}

impl Shape {
    fn blocks(&self) -> usize {
        (self.len >> self.block_log2) + 1
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    shape: Shape,
    lines: &'a [Line],
    directory: &'a [[u8; DIRECTORY_BYTES]],
    entries: &'a [[u8; ENTRY_BYTES]],
    nodes: &'a [[u8; NODE_BYTES]],
}

/// A block, as the directory describes it.
struct Block<'a> {
    lines: &'a [Line],
    nodes: &'a [[u8; NODE_BYTES]],
    root: Kid,
}

impl<'a> Sequence<'a> {
    /// Takes a sequence off the front of `data`.
    pub fn split(shape: Shape, data: &'a [u8]) -> Result<(Self, &'a [u8]), Corrupt> {
        if !(BLOCK_LOG2_MIN..=BLOCK_LOG2_MAX).contains(&shape.block_log2) {
            return Err(Corrupt("blocks of an impossible length"));
        }
        let (lines, rest) = split_records(shape.lines, data)?;
        let (directory, rest) = split_records(shape.blocks(), rest)?;
        let (entries, rest) = split_records(shape.blocks() * shape.symbols, rest)?;
        let (nodes, rest) = split_records(shape.nodes, rest)?;
        Ok((Self { shape, lines, directory, entries, nodes }, rest))
    }

    /// The symbol at `at`; and the number of smaller symbols in the sequence plus the equal ones before `at`. In a Burrows–Wheeler
    /// transform, this number is the place of the suffix that is one longer. It is below the length.
    ///
    /// # Panics
    /// If `at` is not below the length.
    #[inline]
    pub fn step(&self, at: usize) -> Result<(usize, usize), Corrupt> {
        let number = at >> self.shape.block_log2;
        let block = self.block(number)?;
        let mut at = self.in_block(at);
        let mut kid = block.root;
        let mut node_min = 0;
        let symbol = loop {
            let node = match kid {
                Kid::Leaf(symbol) => break symbol,
                Kid::Node(node) if node >= node_min => node,
                Kid::Node(_) => return Err(LOOP),
            };
            node_min = node + 1;
            let node = block.node(node)?;
            let (bit, ones) = block.rank(&node, at)?;
            at = if bit { ones } else { at.wrapping_sub(ones) };
            kid = node.kids[usize::from(bit)];
        };
        if symbol >= self.shape.symbols {
            return Err(Corrupt("a symbol beyond the alphabet"));
        }
        let place = self.entry(number, symbol).0 + usize::from(at);
        if place >= self.shape.len {
            return Err(Corrupt("a place beyond the text"));
        }
        Ok((symbol, place))
    }

    /// The number of smaller symbols in the sequence plus the occurrences of `symbol` before `at`. At most the length.
    ///
    /// # Panics
    /// If `at` is above the length, or the symbol beyond the alphabet.
    #[inline]
    pub fn place(&self, symbol: usize, at: usize) -> Result<usize, Corrupt> {
        let number = at >> self.shape.block_log2;
        let (base, mut turns) = self.entry(number, symbol);
        let mut within = 0;
        if turns != 0 {
            let block = self.block(number)?;
            within = self.in_block(at);
            let mut kid = block.root;
            while turns > 1 {
                let Kid::Node(node) = kid else { return Err(Corrupt("a code goes on after its leaf")) };
                let node = block.node(node)?;
                let (_, ones) = block.rank(&node, within)?;
                let turn = turns & 1;
                within = if turn == 1 { ones } else { within.wrapping_sub(ones) };
                kid = node.kids[usize::from(turn)];
                turns >>= 1;
            }
        }
        Some(base + usize::from(within)).filter(|&place| place <= self.shape.len).ok_or(Corrupt("a place beyond the text"))
    }

    fn in_block(&self, at: usize) -> u16 {
        (at & ((1 << self.shape.block_log2) - 1)) as u16
    }

    fn block(&self, number: usize) -> Result<Block<'a>, Corrupt> {
        let [n0, n1, n2, n3, l0, l1, l2, l3, r0, r1] = self.directory[number];
        let nodes = self.nodes.get(u32::from_le_bytes([n0, n1, n2, n3]) as usize..);
        let lines = self.lines.get(u32::from_le_bytes([l0, l1, l2, l3]) as usize..);
        let root = Kid::from_bytes([r0, r1]);
        lines.zip(nodes).map(|(lines, nodes)| Block { lines, nodes, root }).ok_or(Corrupt("a block beyond the end"))
    }

    /// The base and code of a symbol in a block.
    fn entry(&self, block: usize, symbol: usize) -> (usize, u16) {
        assert!(symbol < self.shape.symbols);
        let [b0, b1, b2, b3, c0, c1] = self.entries[block * self.shape.symbols + symbol];
        (u32::from_le_bytes([b0, b1, b2, b3]) as usize, u16::from_le_bytes([c0, c1]))
    }
}

const LOOP: Corrupt = Corrupt("a tree with a loop");

struct Node {
    first: u32,
    ones: u16,
    kids: [Kid; 2],
}

impl Block<'_> {
    #[inline]
    fn node(&self, number: usize) -> Result<Node, Corrupt> {
        let [f0, f1, f2, f3, o0, o1, a0, a1, b0, b1] = *self.nodes.get(number).ok_or(Corrupt("a node beyond the end"))?;
        let kids = [Kid::from_bytes([a0, a1]), Kid::from_bytes([b0, b1])];
        Ok(Node { first: u32::from_le_bytes([f0, f1, f2, f3]), ones: u16::from_le_bytes([o0, o1]), kids })
    }

    /// The bit of a node at `at`, and the number of ones in the node before it.
    #[inline]
    fn rank(&self, node: &Node, at: u16) -> Result<(bool, u16), Corrupt> {
        let bit = node.first as usize + usize::from(at);
        let line = self.lines.get(bit / LINE_BITS).ok_or(Corrupt("bits beyond the end"))?;
        let (bit, ones) = rank(line, bit % LINE_BITS);
        Ok((bit, ones.wrapping_sub(node.ones)))
    }
}

/// Appends a sequence of symbols below `symbols`.
pub fn encode(sequence: &[u16], symbols: usize, out: &mut Vec<u8>) -> Shape {
    let block_log2 = best_block_log2(sequence, symbols);
    let start = out.len();
    let mut parts = Parts { bases: bases(sequence, symbols), ..Parts::default() };
    let mut blocks: Vec<&[u16]> = sequence.chunks(1 << block_log2).collect();
    if sequence.len().is_multiple_of(1 << block_log2) {
        blocks.push(&[]);
    }
    for block in blocks {
        parts.block(block, (out.len() - start) / LINE_BYTES, out);
    }
    let lines = (out.len() - start) / LINE_BYTES;
    let nodes = parts.nodes.len() / NODE_BYTES;
    [parts.directory, parts.entries, parts.nodes].iter().for_each(|part| out.extend_from_slice(part));
    Shape { len: sequence.len(), symbols, block_log2, lines, nodes }
}

#[derive(Default)]
struct Parts {
    directory: Vec<u8>,
    entries: Vec<u8>,
    nodes: Vec<u8>,
    bases: Vec<u32>,
    /// The bits of every node of a block. Blocks reuse the vectors, which saves allocations.
    bits: Vec<Vec<bool>>,
}

impl Parts {
    fn block(&mut self, block: &[u16], first_line: usize, lines: &mut Vec<u8>) {
        let counts = count(block, self.bases.len());
        let code = Code::new(&counts);
        self.directory.extend_from_slice(&((self.nodes.len() / NODE_BYTES) as u32).to_le_bytes());
        self.directory.extend_from_slice(&(first_line as u32).to_le_bytes());
        self.directory.extend_from_slice(&code.root.to_bytes());
        for ((base, code), count) in self.bases.iter_mut().zip(&code.codes).zip(counts) {
            self.entries.extend_from_slice(&base.to_le_bytes());
            self.entries.extend_from_slice(&code.to_le_bytes());
            *base += count;
        }
        self.sort_bits(block, &code);
        let mut writer = LineWriter::new(lines);
        for (kids, bits) in code.nodes.iter().zip(&self.bits) {
            self.nodes.extend_from_slice(&(writer.bits as u32).to_le_bytes());
            self.nodes.extend_from_slice(&writer.ones.to_le_bytes());
            kids.iter().for_each(|kid| self.nodes.extend_from_slice(&kid.to_bytes()));
            bits.iter().for_each(|&bit| writer.push(bit));
        }
        if !code.nodes.is_empty() {
            writer.finish();
        }
    }

    /// Sends every symbol down the tree. Each node on its way records the turn.
    fn sort_bits(&mut self, block: &[u16], code: &Code) {
        self.bits.resize_with(self.bits.len().max(code.nodes.len()), Vec::new);
        self.bits.iter_mut().for_each(Vec::clear);
        for &symbol in block {
            let mut turns = code.codes[usize::from(symbol)];
            let mut kid = code.root;
            while let Kid::Node(node) = kid {
                self.bits[node].push(turns & 1 == 1);
                kid = code.nodes[node][usize::from(turns & 1)];
                turns >>= 1;
            }
        }
    }
}

fn count(block: &[u16], symbols: usize) -> Vec<u32> {
    let mut counts = vec![0; symbols];
    block.iter().for_each(|&symbol| counts[usize::from(symbol)] += 1);
    counts
}

/// For each symbol, the number of smaller symbols in the sequence.
fn bases(sequence: &[u16], symbols: usize) -> Vec<u32> {
    let counts = count(sequence, symbols).into_iter();
    let sums = counts.scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count)));
    sums.collect()
}

/// The block length that makes the sequence smallest. Short blocks have short codes; long blocks have little overhead.
fn best_block_log2(sequence: &[u16], symbols: usize) -> u32 {
    let mut counts: Vec<Vec<u32>> = sequence.chunks(1 << BLOCK_LOG2_MIN).map(|block| count(block, symbols)).collect();
    let mut best = (usize::MAX, BLOCK_LOG2_MAX);
    for block_log2 in BLOCK_LOG2_MIN..=BLOCK_LOG2_MAX {
        let size = counts.iter().map(|counts| size(counts)).sum();
        best = best.min((size, block_log2));
        counts = counts.chunks(2).map(|pair| pair.iter().skip(1).fold(pair[0].clone(), |a, b| sum(a, b))).collect();
    }
    best.1
}

fn sum(mut a: Vec<u32>, b: &[u32]) -> Vec<u32> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

/// The bytes that a block takes.
fn size(counts: &[u32]) -> usize {
    let code = Code::new(counts);
    let lines = code.bits(counts).div_ceil(LINE_BITS);
    lines * LINE_BYTES + DIRECTORY_BYTES + ENTRY_BYTES * counts.len() + NODE_BYTES * code.nodes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(sequence: &[u16], symbols: usize) {
        let mut bytes = Vec::new();
        let shape = encode(sequence, symbols, &mut bytes);
        let (coded, rest) = Sequence::split(shape, &bytes).unwrap();
        assert!(rest.is_empty());
        let mut places = bases(sequence, symbols);
        for (at, &symbol) in sequence.iter().enumerate() {
            assert_eq!(coded.step(at), Ok((symbol.into(), places[usize::from(symbol)] as usize)));
            if at % 97 == 0 {
                (0..symbols).for_each(|s| assert_eq!(coded.place(s, at), Ok(places[s] as usize)));
            }
            places[usize::from(symbol)] += 1;
        }
        (0..symbols).for_each(|s| assert_eq!(coded.place(s, sequence.len()), Ok(places[s] as usize)));
    }

    proptest! {
        #[test]
        fn sequences_come_back(sequence in prop::collection::vec(0u16..257, 0..500), symbols in 1u16..=257) {
            let sequence: Vec<u16> = sequence.iter().map(|s| s % symbols).collect();
            check(&sequence, symbols.into());
        }
    }

    #[test]
    fn blocks_follow_blocks() {
        for len in [4095, 4096, 4097, 65536, 140_000] {
            check(&vec![1; len], 3);
            check(&(0..len).map(|k| (k * k / 7 % 5) as u16).collect::<Vec<_>>(), 5);
            check(&(0..len).map(|k| ((k >> 13) * 3 + k % 3) as u16 % 60).collect::<Vec<_>>(), 60);
        }
    }
}
