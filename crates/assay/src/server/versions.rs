//! Versions: what pushes say about the text that they are for (LSP 3.17 §publishDiagnosticsParams).

use super::documents::{Document, Push};
use super::observed::{Fault, Observed};
use super::probe::Probe;
use super::verdict::{Seen, Verdicts, passive};
use crate::results::Law;

/// Sends versions with gaps, each with its error on another line.
pub(crate) async fn judge(mut probe: Probe<'_>, verdicts: &mut Verdicts) -> Observed {
    // Gaps tell a version that is echoed from one that is counted.
    const VERSIONS: [i64; 5] = [41, 57, 103, 104, 200];
    let fixture = &probe.subject.fixture;
    let mark = probe.log.mark();
    probe.open(&fixture.broken(VERSIONS_K), VERSIONS[0]).await;
    probe.settle().await;
    for (k, version) in (VERSIONS_K + 1..).zip(&VERSIONS[1..]) {
        probe.change_to(&fixture.broken(k), Some(*version)).await;
        if *version == 103 {
            probe.settle().await;
        }
    }
    probe.settle().await;
    let evidence = probe.log.since(mark, 16);
    let uri = probe.subject.uri();
    if let Some(document) = probe.document(&uri) {
        verdicts.should(
            Law::Versions,
            "last-push-names-newest",
            "LSP 3.17 #publishDiagnosticsParams: a named version is that of the text that the push is for; \
             after quiet that is the newest",
            names_newest(document, &evidence),
        );
        verdicts.should(
            Law::Versions,
            "honest",
            "LSP 3.17 #publishDiagnosticsParams: findings are those of the text whose version is named",
            honest(&probe, document, &evidence),
        );
    }
    probe.close().await
}

/// The `k` of the text under the first version.
const VERSIONS_K: usize = 1;

fn named(document: &Document) -> impl DoubleEndedIterator<Item = (&Push, i64)> {
    document.pushes.iter().filter_map(|push| Some((push, push.version?)))
}

fn names_newest(document: &Document, evidence: &[crate::results::Evidence]) -> Seen {
    let newest = document.newest().map(|sent| sent.version);
    match named(document).next_back() {
        None => Seen::Unclear(no_versions(document)),
        Some((_, version)) => {
            Seen::of(Some(version) == newest, format!("the last push names version {version}"), || evidence.to_vec())
        }
    }
}

fn no_versions(document: &Document) -> String {
    if document.pushes.is_empty() { "it never pushed".to_owned() } else { "its pushes name no version".to_owned() }
}

/// The broken line moves with every text, so the line of an error tells its text.
fn honest(probe: &Probe<'_>, document: &Document, evidence: &[crate::results::Evidence]) -> Seen {
    let fixture = &probe.subject.fixture;
    if fixture.broken_line(0).is_none() {
        return Seen::Unclear("in given texts the error's line is not known".to_owned());
    }
    let mut judged = 0;
    for (push, version) in named(document) {
        let Some(text) = document.version(version).map(|sent| sent.text.as_str()) else { continue };
        let k = (VERSIONS_K..VERSIONS_K + 10).find(|k| fixture.broken(*k) == text);
        let line = k.and_then(|k| fixture.broken_line(k));
        let wrong =
            push.findings.iter().find(|found| found.is_error() && Some(found.range.start.line as usize) != line);
        if let Some(wrong) = wrong {
            let observed = format!("version {version} is named, the finding is another text's: {wrong}");
            return Seen::Broken(observed, evidence.to_vec());
        }
        judged += 1;
    }
    if judged == 0 { Seen::Unclear(no_versions(document)) } else { Seen::Held(format!("{judged} pushes, all honest")) }
}

/// Judges what every session saw of this law.
pub(crate) fn judge_observed(verdicts: &mut Verdicts, observed: &Observed) {
    let things = observed.pushes_versioned;
    verdicts.must(
        Law::Versions,
        "sent-before",
        "LSP 3.17 #publishDiagnosticsParams: a named version is one that the client has sent",
        passive(observed, &[Fault::FutureVersion, Fault::UnknownVersion], things, "pushes with a version"),
    );
    verdicts.should(
        Law::Versions,
        "never-back",
        "LSP 3.17 #publishDiagnosticsParams: after a push for a version comes none for an older one",
        passive(observed, &[Fault::OlderVersion], things, "pushes with a version"),
    );
    verdicts.must(
        Law::Versions,
        "push-shape",
        "LSP 3.17 #publishDiagnosticsParams: `uri`, `diagnostics` and an integer `version` or none; \
         each diagnostic has a range and a message",
        passive(observed, &[Fault::PushShape], observed.pushes, "pushes"),
    );
}
