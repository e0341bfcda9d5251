//! Checks what a power failure may leave of a commit: any of its pages that had reached the disk, in any order, some torn.
//!
//! LMDB writes the changed pages of a transaction to places that nothing points to. It waits for the disk. Only then it writes the
//! page that points to them. So a failure before the wait leaves the file as it was, plus any part of those writes. This test makes
//! such files. It takes the file before a commit and the one after it, and a random choice of the sectors that differ. Each must
//! open as exactly what was committed before. (`strace` shows that the pages, the wait and the pointer come in this order:
//! docs/trust.md.)

mod support;

use std::fs;
use std::path::Path;

use mangrove_testkit::graphs::Random;
use mangrove_testkit::suite::StoreUnderTest;
use mangrove_testkit::{Oracle, compare, ledger};
use support::StoreInDir;

/// The unit that a disk writes whole.
const SECTOR_BYTES: usize = 512;
/// LMDB's two pages that point to everything else. They come first in the file and are written last.
const HEAD_BYTES: usize = 2 * 4096;
const SEED: u64 = 23;

#[test]
fn a_commit_cut_off_by_a_power_failure_never_was() {
    let home = tempfile::tempdir().unwrap();
    let store = StoreInDir::open(home.path());
    let mut oracle = Oracle::default();
    let mut random = Random::new(support::number_from_env("MANGROVE_SEED").unwrap_or(1));
    let images_each = support::number_from_env("MANGROVE_IMAGES").unwrap_or(2);
    let (mut images, mut torn) = (0, 0);
    for n in 1..=16 {
        let before = data(home.path());
        let mut transaction = store.begin().unwrap();
        ledger::transaction(transaction.graph(), SEED, n).unwrap();
        transaction.commit().unwrap();
        let after = data(home.path());
        for _ in 0..images_each {
            let (image, sectors) = torn_image(&before, &after, &mut random);
            look(home.path(), &image, &oracle);
            (images, torn) = (images + 1, torn + sectors);
        }
        ledger::transaction(&mut oracle, SEED, n).unwrap();
        look(home.path(), &after, &oracle);
    }
    println!("power loss: {images} images with {torn} sectors of a commit that never was");
    assert!(torn > images, "the images hold something of the commit");
}

fn data(dir: &Path) -> Vec<u8> {
    fs::read(dir.join("hot/data.mdb")).unwrap()
}

/// The file before a commit, with some of the sectors that the commit writes before its wait, and their number.
fn torn_image(before: &[u8], after: &[u8], random: &mut Random) -> (Vec<u8>, u64) {
    let mut image = before.to_vec();
    image.resize(before.len().max(after.len()), 0);
    let share = random.below(5);
    let mut taken = 0;
    for start in (HEAD_BYTES..after.len()).step_by(SECTOR_BYTES) {
        let sector = start..after.len().min(start + SECTOR_BYTES);
        if image[sector.clone()] != after[sector.clone()] && random.below(4) < share {
            image[sector.clone()].copy_from_slice(&after[sector]);
            taken += 1;
        }
    }
    (image, taken)
}

/// Opens a copy of the store with `image` as its data, and compares it.
fn look(dir: &Path, image: &[u8], expected: &Oracle) {
    let copy = tempfile::tempdir().unwrap();
    fs::copy(dir.join("mangrove.json"), copy.path().join("mangrove.json")).unwrap();
    fs::create_dir(copy.path().join("hot")).unwrap();
    fs::write(copy.path().join("hot/data.mdb"), image).unwrap();
    let mut store = StoreInDir::open(copy.path());
    compare::assert_same(&*store.snapshot().unwrap(), expected);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    // Work continues from there as if nothing had happened.
    let (n, mut oracle) = (ledger::last_transaction(expected) + 1, expected.clone());
    let mut transaction = store.begin().unwrap();
    ledger::transaction(transaction.graph(), SEED, n).unwrap();
    transaction.commit().unwrap();
    ledger::transaction(&mut oracle, SEED, n).unwrap();
    store.reopen().unwrap();
    compare::assert_same(&*store.snapshot().unwrap(), &oracle);
}
