//! The pages of LMDB's file, verified before LMDB follows them.
//!
//! LMDB trusts what it reads. A damaged page may end the process, or silently hide entries. So this module reads the file by
//! itself, and verifies everything LMDB will rely on. It knows format 1 of LMDB's files, which versions 0.9 write on
//! little-endian machines.
//!
//! ```text
//!   page     number 8 | zeros 2 | flags 2 | lower 2 | upper 2 | offsets of nodes, 2 each | free | nodes
//!            overflow pages: number 8 | zeros 2 | flags 2 | how many 4 | a value
//!   meta     pages 0 and 1; after 16 bytes: magic 4 | version 4 | address 8 | map size 8 | FREE tree 48 | MAIN tree 48
//!            | last page 8 | transaction 8.  The flags of pages and trees are those of lmdb.h; the first of FREE is the page size
//!   tree     pad 4 | flags 2 | depth 2 | branch pages 8 | leaf pages 8 | overflow pages 8 | entries 8 | root 8 (all ones: empty)
//!   node     low 2 | high 2 | flags 2 | length of the key 2 | key | value
//!            in a branch low, high and flags are the number of the child; in a leaf low and high are the length of the value
//! ```
//! In a sound file:
//!
//! * The pages of all trees and the free pages are together each page up to the last, once.
//! * Every node is within its page, and no nodes overlap.
//! * Keys ascend, and those of a child lie between the keys beside it in its parent.
//! * Trees count their pages and entries right.
//! * Only free pages may lie beyond the end of the file.
//! * Every commit frees a page, so the last key of FREE is the transaction of its meta page. Only the first commit, or a
//!   compacted copy, has no free pages yet.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

use mangrove_graph::{GraphError, Result};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use crate::system::fault;

const MAGIC: u32 = 0xBEEF_C0DE;
const VERSION: u32 = 1;
const HEADER: usize = 16;
const META: usize = 136;
const TREE: usize = 48;
const NODE: usize = 8;
const PAGE_SIZES: std::ops::RangeInclusive<usize> = 4096..=32768;
/// Flags of pages: a branch, a leaf, the first of a value that is too large for a leaf, and a meta page.
const BRANCH: u16 = 1;
const LEAF: u16 = 2;
const OVERFLOW: u16 = 4;
const META_PAGE: u16 = 8;
/// Flags of nodes: the value is on overflow pages; it is a tree.
const FAR: u16 = 1;
const IS_TREE: u16 = 2;
/// The flag of the FREE tree: its keys are integers.
const INTEGER_KEYS: u16 = 8;
const DEPTH_MAX: u16 = 32;
const KEY_MAX: usize = 511;
const EMPTY: u64 = u64::MAX;
/// The largest map of a file, in bytes.
pub const MAP_BYTES_MAX: u64 = 1 << 40;
/// How often meta pages that contradict themselves are read again.
const META_TRIES: u32 = 20;
/// A large value is hashed this many bytes at a time.
const HASHED_AT_ONCE: usize = 1 << 16;

/// A meta page. It has the two trees on which all others hang.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    page_size: usize,
    free: Tree,
    main: Tree,
    last: u64,
    pub transaction: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Tree {
    pad: u32,
    flags: u16,
    depth: u16,
    counts: Counts,
    root: u64,
}

#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Counts {
    branch: u64,
    leaf: u64,
    overflow: u64,
    entries: u64,
}

impl Meta {
    pub fn page_bytes(&self) -> u64 {
        self.page_size as u64
    }

    /// The bytes the file has if no page at its end is free.
    pub fn bytes(&self) -> u64 {
        (self.last + 1) * self.page_size as u64
    }

    /// Whether nothing was ever committed.
    pub fn has_no_tables(&self) -> bool {
        self.main.root == EMPTY
    }

    fn parse(page: &[u8], at: u64) -> Result<Self, &'static str> {
        let word = |at: usize| u64_at(page, HEADER + at);
        let (free, main) = (Tree::parse(&page[HEADER + 24..]), Tree::parse(&page[HEADER + 24 + TREE..]));
        let meta = Self { page_size: free.pad as usize, free, main, last: word(120), transaction: word(128) };
        let is_right = [
            (u64_at(page, 0) == at && u16_at(page, 10) == META_PAGE, "it is not a meta page of LMDB"),
            (u32_at(page, HEADER) == MAGIC && u32_at(page, HEADER + 4) == VERSION, "it is not in format 1 of LMDB"),
            (
                meta.page_size.is_power_of_two() && PAGE_SIZES.contains(&meta.page_size),
                "this meta page states an impossible page size",
            ),
            (word(8) == 0 && word(16) <= MAP_BYTES_MAX, "this meta page asks for a map that is too large"),
            (
                free.flags == INTEGER_KEYS && main.flags == 0 && main.pad == 0,
                "the trees of this meta page have the wrong flags",
            ),
            (
                meta.last >= 1 && meta.last < MAP_BYTES_MAX / 4096 && meta.bytes() <= MAP_BYTES_MAX,
                "this meta page counts more pages than any file has",
            ),
            (meta.transaction % 2 == at || meta.has_no_tables(), "this meta page belongs to another commit"),
            ((meta.transaction == 0) == meta.has_no_tables(), "this meta page names an impossible transaction"),
        ];
        is_right.into_iter().find(|(is_right, _)| !is_right).map_or(Ok(meta), |(_, what)| Err(what))
    }
}

impl Tree {
    fn parse(bytes: &[u8]) -> Self {
        let count = |at| u64_at(bytes, at);
        Self {
            pad: u32_at(bytes, 0),
            flags: u16_at(bytes, 4),
            depth: u16_at(bytes, 6),
            counts: Counts { branch: count(8), leaf: count(16), overflow: count(24), entries: count(32) },
            root: count(40),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// How keys are compared.
#[derive(Clone, Copy)]
enum Order {
    Bytes,
    /// As integers of 8 bytes.
    Integers,
}

impl Order {
    fn ascend(self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Self::Bytes => a < b,
            Self::Integers => u64_at(a, 0) < u64_at(b, 0),
        }
    }
}

/// An entry of a table.
pub struct Entry<'a> {
    pages: &'a Pages,
    pub key: &'a [u8],
    value: Value<'a>,
    flags: u16,
}

#[derive(Clone, Copy)]
enum Value<'a> {
    Near(&'a [u8]),
    /// On overflow pages from this one on, and the length of the value.
    Far(u64, usize),
}

impl<'a> Entry<'a> {
    pub fn value(&self) -> Result<Cow<'a, [u8]>> {
        match self.value {
            Value::Near(bytes) => Ok(bytes.into()),
            Value::Far(page, len) => self.pages.read(page, HEADER, len).map(Cow::Owned),
        }
    }

    /// The hash of the value.
    pub fn hash(&self, seed: u64) -> Result<u64> {
        let (page, len) = match self.value {
            Value::Near(bytes) => return Ok(xxh3_64_with_seed(bytes, seed)),
            Value::Far(page, len) => (page, len),
        };
        let mut hash = Xxh3::with_seed(seed);
        for from in (0..len).step_by(HASHED_AT_ONCE) {
            hash.update(&self.pages.read(page, HEADER + from, HASHED_AT_ONCE.min(len - from))?);
        }
        Ok(hash.digest())
    }
}

/// The pages a transaction freed, those at the end of the file first. Readers of an earlier commit still need them.
pub struct FreeList {
    pub transaction: u64,
    pub pages: Vec<u64>,
}

/// What to do with each entry of a tree.
type Visit<'v> = &'v mut dyn FnMut(&Entry<'_>) -> Result<()>;

/// A file of pages.
pub struct Pages {
    path: PathBuf,
    file: File,
    metas: [Meta; 2],
}

impl Pages {
    /// Opens a file and verifies its meta pages.
    ///
    /// # Errors
    /// [`GraphError::Corrupt`] if one of them is damaged, [`GraphError::Storage`] if the file cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(fault::io(path))?;
        let metas = metas(path, &file)?;
        Ok(Self { path: path.into(), file, metas })
    }

    /// The meta page of this transaction; `None` if a later commit has overwritten it.
    pub fn meta_of(&self, transaction: u64) -> Option<Meta> {
        self.metas.into_iter().find(|meta| meta.transaction == transaction)
    }

    /// The two last commits.
    pub fn metas(&self) -> &[Meta; 2] {
        &self.metas
    }

    /// The last transaction.
    pub fn newest(&self) -> u64 {
        self.metas[0].transaction.max(self.metas[1].transaction)
    }

    /// Whether pages that the meta page counts lie beyond the end of the file.
    pub fn is_short_of(&self, meta: &Meta) -> Result<bool> {
        let found = self.file.metadata().map_err(fault::io(&self.path))?;
        Ok(found.len() < meta.bytes())
    }

    /// Verifies all pages that belong to the commit of a meta page. Calls `visit` with every entry of each of its tables,
    /// and before it the name of the table. O(pages).
    ///
    /// # Errors
    /// [`GraphError::Corrupt`] with the page and what is wrong with it, and the errors of `visit`.
    pub fn verify(&self, meta: &Meta, visit: &mut dyn FnMut(&[u8], &Entry<'_>) -> Result<()>) -> Result<()> {
        let mut walk = PageWalk { pages: self, size: meta.page_size, seen: Seen::new(meta.last) };
        let mut tables = Vec::new();
        walk.tree(&meta.main, Order::Bytes, &mut |entry| {
            let tree = entry.value()?;
            if entry.flags != IS_TREE || tree.len() != TREE {
                return Err(self.damage(meta.main.root, "it names something that is not a table"));
            }
            tables.push((entry.key.to_vec(), Tree::parse(&tree)));
            Ok(())
        })?;
        for (name, tree) in &tables {
            if (tree.flags, tree.pad) != (0, 0) {
                return Err(self.damage(tree.root, "a table with unknown flags"));
            }
            walk.tree(tree, Order::Bytes, &mut |entry| match entry.flags & IS_TREE {
                0 => visit(name, entry),
                _ => Err(self.damage(tree.root, "a table within a table")),
            })?;
        }
        walk.free_pages(meta)?;
        for other in self.metas.iter().filter(|other| other.transaction != meta.transaction) {
            // Its pages are intact as long as those of the commit after it.
            PageWalk { pages: self, size: meta.page_size, seen: Seen::new(other.last) }.free_pages(other)?;
        }
        match walk.seen.first_missing() {
            Some(_) if !walk.seen.has(meta.last) => {
                Err(self.damage(meta.transaction % 2, "this meta page counts pages that do not exist"))
            }
            Some(page) => Err(self.damage(page, "it is neither in use nor free")),
            None => Ok(()),
        }
    }

    /// The free pages of a commit. O(free pages).
    ///
    /// # Errors
    /// [`GraphError::Corrupt`] if the tree they are in is damaged.
    pub fn free(&self, meta: &Meta) -> Result<Vec<FreeList>> {
        PageWalk { pages: self, size: meta.page_size, seen: Seen::new(meta.last) }.free_lists(meta)
    }

    fn read(&self, page: u64, offset: usize, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let at = page * self.metas[0].page_size as u64 + offset as u64;
        read_at(&self.file, &mut bytes, at).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.damage(page, "it is in use, but lies beyond the end of the file"),
            _ => fault::io(&self.path)(error),
        })?;
        Ok(bytes)
    }

    fn damage(&self, page: u64, what: &str) -> GraphError {
        damage(&self.path, page, what)
    }
}

/// Reads and verifies the meta pages. A commit may be writing them, so only damage that stays over many reads is an error.
fn metas(path: &Path, file: &File) -> Result<[Meta; 2]> {
    let read = || -> Result<[Meta; 2]> {
        let mut page = [0; META + HEADER];
        let mut meta = |at: u64, offset: u64| {
            read_at(file, &mut page, offset).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => damage(path, at, "the file was cut short"),
                _ => fault::io(path)(error),
            })?;
            Meta::parse(&page, at).map_err(|what| damage(path, at, what))
        };
        let first = meta(0, 0)?;
        let second = meta(1, first.page_size as u64)?;
        if first.page_size != second.page_size || first.transaction.abs_diff(second.transaction) > 1 {
            return Err(damage(path, 1, "this meta page does not match the other one"));
        }
        Ok([first, second])
    };
    let mut metas = read();
    for _ in 0..META_TRIES {
        if metas.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        metas = read();
    }
    metas
}

fn damage(path: &Path, page: u64, what: &str) -> GraphError {
    GraphError::corrupt(format!("{}, page {page}: {what}: restore a backup", path.display()))
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            n => (bytes, offset) = (&mut bytes[n..], offset + n as u64),
        }
    }
    Ok(())
}

/// The pages met so far.
struct Seen {
    last: u64,
    words: Vec<u64>,
}

impl Seen {
    /// The two meta pages count as met.
    fn new(last: u64) -> Self {
        let mut words = vec![0; last as usize / 64 + 1];
        words[0] = 0b11;
        Self { last, words }
    }

    /// Marks a page as met. The error says what is wrong if there is no such page, or if it was met before.
    fn mark(&mut self, page: u64) -> Result<(), &'static str> {
        if page > self.last {
            return Err("it is beyond the last page");
        }
        let word = &mut self.words[page as usize / 64];
        let bit = 1 << (page % 64);
        if *word & bit != 0 {
            return Err("it is in use twice, or in use and free");
        }
        *word |= bit;
        Ok(())
    }

    fn has(&self, page: u64) -> bool {
        self.words[page as usize / 64] >> (page % 64) & 1 == 1
    }

    fn first_missing(&self) -> Option<u64> {
        let at = self.words.iter().position(|word| *word != u64::MAX)?;
        let page = at as u64 * 64 + u64::from(self.words[at].trailing_ones());
        (page <= self.last).then_some(page)
    }
}

/// The verification of one commit.
struct PageWalk<'p> {
    pages: &'p Pages,
    size: usize,
    seen: Seen,
}

/// A page, its level in a tree, and the keys between which all of its keys lie: from `from` on, and before `to`.
#[derive(Clone, Copy)]
struct Subtree<'k> {
    page: u64,
    level: u16,
    from: Option<&'k [u8]>,
    to: Option<&'k [u8]>,
}

impl<'p> PageWalk<'p> {
    fn tree(&mut self, tree: &Tree, order: Order, visit: Visit<'_>) -> Result<()> {
        let mut counts = Counts::default();
        if tree.depth > DEPTH_MAX || (tree.root == EMPTY) != (tree.depth == 0) {
            return Err(self.pages.damage(tree.root, "the root of a tree of another depth"));
        }
        if tree.root != EMPTY {
            let place = Subtree { page: tree.root, level: 1, from: None, to: None };
            self.page(tree, order, place, &mut counts, visit)?;
        }
        if counts == tree.counts {
            Ok(())
        } else {
            Err(self.pages.damage(tree.root, "the root of a tree with wrong counts"))
        }
    }

    /// Verifies a page and all below it. There are at most [`DEPTH_MAX`] levels.
    fn page(&mut self, tree: &Tree, order: Order, at: Subtree<'_>, counts: &mut Counts, visit: Visit<'_>) -> Result<()> {
        let pages = self.pages;
        let wrong = |what: &str| pages.damage(at.page, what);
        self.seen.mark(at.page).map_err(wrong)?;
        let is_leaf = at.level == tree.depth;
        let bytes = pages.read(at.page, 0, self.size)?;
        let nodes = nodes(&bytes, at.page, is_leaf).map_err(wrong)?;
        let is_key = |key: &[u8]| match order {
            Order::Bytes => (1..=KEY_MAX).contains(&key.len()),
            Order::Integers => key.len() == 8,
        };
        // LMDB does not look at the first key of a branch, and neither does this.
        let keys: Vec<&[u8]> = nodes.iter().skip(usize::from(!is_leaf)).map(|node| node.key).collect();
        if !keys.iter().all(|key| is_key(key)) {
            return Err(wrong("a key of an impossible length"));
        }
        let after = at.from.into_iter().zip(keys.first()).all(|(from, first)| !order.ascend(first, from));
        let before = at.to.into_iter().zip(keys.last()).all(|(to, last)| order.ascend(last, to));
        if !after || !before || !keys.windows(2).all(|pair| order.ascend(pair[0], pair[1])) {
            return Err(wrong("its keys are not in order"));
        }
        if is_leaf {
            counts.leaf += 1;
            counts.entries += nodes.len() as u64;
            return nodes.iter().try_for_each(|node| visit(&self.entry(node, at.page, counts)?));
        }
        counts.branch += 1;
        for (n, node) in nodes.iter().enumerate() {
            let from = if n == 0 { at.from } else { Some(keys[n - 1]) };
            let to = keys.get(n).copied().or(at.to);
            let child = Subtree { page: node.child(), level: at.level + 1, from, to };
            self.page(tree, order, child, counts, visit)?;
        }
        Ok(())
    }

    /// The entry of a leaf's node. Verifies the overflow pages of its value, if it has some.
    fn entry<'a>(&mut self, node: &Node<'a>, leaf: u64, counts: &mut Counts) -> Result<Entry<'a>>
    where
        'p: 'a,
    {
        let pages: &'a Pages = self.pages;
        let entry = |value| Entry { pages, key: node.key, value, flags: node.flags };
        if node.flags & !IS_TREE == 0 {
            return Ok(entry(Value::Near(node.value)));
        }
        if node.flags != FAR {
            return Err(pages.damage(leaf, "an entry with unknown flags"));
        }
        let (page, len) = (u64_at(node.value, 0), node.value_len());
        self.seen.mark(page).map_err(|what| pages.damage(page, what))?;
        let header = pages.read(page, 0, HEADER)?;
        let (n, needed) = (u64::from(u32_at(&header, 12)), ((HEADER - 1 + len) / self.size + 1) as u64);
        if u64_at(&header, 0) != page || u16_at(&header, 10) != OVERFLOW || n < needed {
            return Err(pages.damage(page, "it holds another value than expected"));
        }
        (page + 1..page + n).try_for_each(|page| self.seen.mark(page)).map_err(|what| pages.damage(page, what))?;
        counts.overflow += n;
        Ok(entry(Value::Far(page, len)))
    }

    /// Verifies the tree of free pages. Its last list must be of the meta page's transaction.
    fn free_pages(&mut self, meta: &Meta) -> Result<()> {
        let (pages, lists) = (self.pages, self.free_lists(meta)?);
        if lists.last().map_or(meta.transaction > 1, |last| last.transaction != meta.transaction) {
            return Err(pages.damage(meta.transaction % 2, "this meta page belongs to another commit"));
        }
        let mut free = lists.iter().flat_map(|list| &list.pages);
        free.try_for_each(|page| self.seen.mark(*page).map_err(|what| pages.damage(*page, what)))
    }

    fn free_lists(&mut self, meta: &Meta) -> Result<Vec<FreeList>> {
        let (pages, mut lists) = (self.pages, Vec::new());
        let wrong = |what| pages.damage(meta.free.root, what);
        self.tree(&Tree { pad: 0, flags: 0, ..meta.free }, Order::Integers, &mut |entry| {
            let list = entry.value()?;
            let (words, _) = list.as_chunks::<8>();
            let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
            let n = words
                .next()
                .filter(|n| *n <= words.len() as u64)
                .ok_or_else(|| wrong("a list of free pages that ends early"))?;
            let pages: Vec<u64> = words.take(n as usize).collect();
            if entry.flags & IS_TREE != 0 || pages.windows(2).any(|pair| pair[0] <= pair[1]) {
                return Err(wrong("an invalid list of free pages"));
            }
            lists.push(FreeList { transaction: u64_at(entry.key, 0), pages });
            Ok(())
        })?;
        Ok(lists)
    }
}

struct Node<'a> {
    low: u16,
    high: u16,
    flags: u16,
    key: &'a [u8],
    /// The value or, if it is far, where it is.
    value: &'a [u8],
}

impl Node<'_> {
    fn child(&self) -> u64 {
        u64::from(self.low) | u64::from(self.high) << 16 | u64::from(self.flags) << 32
    }

    fn value_len(&self) -> usize {
        usize::from(self.low) | usize::from(self.high) << 16
    }
}

/// The nodes of a page. They fill it from the end of its free space on.
fn nodes(bytes: &[u8], page: u64, is_leaf: bool) -> Result<Vec<Node<'_>>, &'static str> {
    let (lower, upper) = (usize::from(u16_at(bytes, 12)), usize::from(u16_at(bytes, 14)));
    if u64_at(bytes, 0) != page || u16_at(bytes, 10) != if is_leaf { LEAF } else { BRANCH } {
        return Err("it holds another page");
    }
    if !(HEADER..=upper).contains(&lower) || upper > bytes.len() || lower % 2 != 0 {
        return Err("its free space is in an impossible place");
    }
    let (offsets, _) = bytes[HEADER..lower].as_chunks::<2>();
    let offsets: Vec<usize> = offsets.iter().map(|offset| usize::from(u16::from_le_bytes(*offset))).collect();
    if offsets.len() < if is_leaf { 1 } else { 2 } {
        return Err("it has too few nodes");
    }
    let parsed: Option<Vec<_>> = offsets.iter().map(|at| node(bytes, *at, is_leaf)).collect();
    let parsed = parsed.ok_or("a node beyond its end")?;
    let mut extents: Vec<_> = parsed.iter().zip(&offsets).map(|((_, len), at)| (*at, at + len)).collect();
    extents.sort_unstable();
    let end = extents.iter().try_fold(upper, |end, (from, to)| (*from == end).then_some(*to));
    if end != Some(bytes.len()) {
        return Err("its nodes overlap or leave gaps");
    }
    Ok(parsed.into_iter().map(|(node, _)| node).collect())
}

/// The node at an offset, and its length, which is even.
fn node(bytes: &[u8], at: usize, is_leaf: bool) -> Option<(Node<'_>, usize)> {
    let (head, rest) = bytes.get(at..)?.split_at_checked(NODE)?;
    let (low, high, flags) = (u16_at(head, 0), u16_at(head, 2), u16_at(head, 4));
    let (key, rest) = rest.split_at_checked(usize::from(u16_at(head, 6)))?;
    let mut node = Node { low, high, flags, key, value: &[] };
    if is_leaf {
        node.value = rest.get(..if flags & FAR != 0 { 8 } else { node.value_len() })?;
    }
    let len = (NODE + key.len() + node.value.len()).next_multiple_of(2);
    (at + len <= bytes.len()).then_some((node, len))
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;
    use std::sync::LazyLock;

    use mangrove_graph::IdSpace;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::lmdb::readers::Readers;
    use crate::lmdb::table::Writing;
    use crate::options::HotOptions;

    /// Tables with branches, values on overflow pages and lists of free pages.
    static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let env =
            crate::lmdb::env::open(dir.path(), &Readers::map(dir.path()), &HotOptions::default()).expect("an environment");
        let tables =
            crate::lmdb::env::create_tables(&env, &crate::format::catalog::first_meta(IdSpace::Graph, Default::default()))
                .expect("tables");
        for n in 0..6u32 {
            let mut t = Writing::new(env.write_txn().expect("a transaction"), &tables).expect("a transaction");
            for (table, len) in [(tables.columns, 3000), (tables.index, 20)] {
                for key in (n..60_000 / len).step_by(5) {
                    table.put(&mut t, &key.to_be_bytes(), &vec![n as u8; (key % len) as usize * 2]).expect("an entry");
                }
                let (from, to) = (n.to_be_bytes(), (5 * n).to_be_bytes());
                table.delete_range(&mut t, &(Bound::Included(&from[..]), Bound::Excluded(&to[..]))).expect("fewer entries");
            }
            t.commit(&tables).expect("a commit");
        }
        std::fs::read(dir.path().join("data.mdb")).expect("the file")
    });

    /// How many entries the newest commit has, if it is sound.
    fn verify(bytes: &[u8]) -> Result<usize> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("a file");
        let pages = Pages::open(file.path())?;
        let newest = pages.metas.iter().max_by_key(|meta| meta.transaction).expect("two");
        let mut entries = 0;
        pages.verify(newest, &mut |_, entry| {
            entries += 1;
            entry.hash(0).map(drop)
        })?;
        Ok(entries)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn damage_gives_an_error_or_the_same_keys(damages in vec((any::<prop::sample::Index>(), 0usize..160, any::<u8>()), 1..4)) {
            let mut bytes = SOUND.clone();
            let entries = verify(&bytes).expect("it is sound");
            for (page, at, byte) in damages {
                // Most of what can go wrong is in the beginning of a page, and in the nodes at its end.
                let at = if byte % 2 == 0 { at } else { 4095 - at };
                let page = page.index(bytes.len() / 4096);
                bytes[page * 4096 + at] = byte;
            }
            match verify(&bytes) {
                Ok(found) => prop_assert_eq!(found, entries),
                Err(error) => prop_assert!(matches!(error, GraphError::Corrupt(..)), "{}", error),
            }
        }
    }
}
