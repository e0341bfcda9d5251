//! What a misspelt name may have meant.

/// The name nearest to `name`, if one is near.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let wanted = name.to_lowercase();
    let scored = names.map(|candidate| (strsim::jaro_winkler(&wanted, &candidate.to_lowercase()), candidate));
    let (score, best) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score > 0.8).then(|| best.to_owned())
}
