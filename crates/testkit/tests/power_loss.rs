//! What a power failure may leave of a commit: the pages that had reached the disk, in whatever order, some torn.
//!
//! LMDB writes the changed pages of a transaction to places nothing points to, waits for the disk, and only then writes the
//! page that points to them. So a failure before the wait leaves the file as it was, plus any part of those writes. This test
//! makes such files: from the file before a commit and the one after it, with a random choice of the sectors that differ. Each
//! must open as exactly what was committed before. (That the pages, the wait and the pointer come in this order is seen with
//! `strace`: docs/trust.md.)

mod support;

use std::fs;
use std::path::Path;

use mangrove_testkit::graphs::Random;
use mangrove_testkit::suite::StoreUnderTest;
use mangrove_testkit::{Oracle, compare, ledger};
use support::StoreInDir;

/// What a disk writes whole.
const SECTOR_BYTES: usize = 512;
/// LMDB's two pages that say where everything is come first; they are written last.
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

/// The file before a commit with some of the sectors the commit writes before it waits, and how many.
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

/// Opens a copy of the store with `image` for its data, and compares it.
fn look(dir: &Path, image: &[u8], expected: &Oracle) {
    let copy = tempfile::tempdir().unwrap();
    fs::copy(dir.join("mangrove.json"), copy.path().join("mangrove.json")).unwrap();
    fs::create_dir(copy.path().join("hot")).unwrap();
    fs::write(copy.path().join("hot/data.mdb"), image).unwrap();
    let mut store = StoreInDir::open(copy.path());
    compare::assert_same(&*store.snapshot().unwrap(), expected);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    // It goes on from there as if nothing had been.
    let (n, mut oracle) = (ledger::last_transaction(expected) + 1, expected.clone());
    let mut transaction = store.begin().unwrap();
    ledger::transaction(transaction.graph(), SEED, n).unwrap();
    transaction.commit().unwrap();
    ledger::transaction(&mut oracle, SEED, n).unwrap();
    store.reopen().unwrap();
    compare::assert_same(&*store.snapshot().unwrap(), &oracle);
}
