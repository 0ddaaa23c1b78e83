//! Decisions about proposals: accept, reject, undo. A decision applies to the version that the user saw,
//! keeps their own text, and the model learns of every rejection.

use cairn_protocol::{
    Decide, DecideParams, DecideResult, Decision, EditProblem, EndReason, Hunk, Notice,
    RefusedEdit, ReviewProblem, Scope, ShownHunk, UndoDecision, UndoDecisionResult,
};
use cairn_tests::{
    editor_double::{ApplyFault, range},
    model_server::{Wire, assert_append_only},
};
use serde_json::json;

use crate::fixtures::*;

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";
const AFTER: &str = "1\ntwo\nthree\nfour\n5\n";

/// Daemon with an open file in which two hunks are pending.
struct Proposed {
    test: TestDaemon,
    session_id: String,
    uri: String,
}

impl Proposed {
    async fn new() -> Self {
        let test = TestDaemon::open(Wire::Anthropic, &[("a", BEFORE)]).await;
        let uri = test.open_file("a");
        let end = test
            .play([
                plan("p1", &[('>', "First"), (' ', "Second")]),
                edit("c1", "a", "one", "1"),
                plan("p2", &[('x', "First"), ('>', "Second")]),
                edit("c2", "a", "five", "5"),
                say("Done."),
            ])
            .await;
        assert_eq!(end.reason, EndReason::Completed);
        assert_eq!(test.text("a"), AFTER);
        Self { test, session_id: end.session_id, uri }
    }

    /// Old and new text of the hunks that are pending, as the review shows them.
    async fn pending(&self) -> Vec<(String, String)> {
        let hunks = self.test.hunks("a").await;
        hunks.into_iter().map(|hunk| (hunk.old_text, hunk.new_text)).collect()
    }

    async fn baseline(&self) -> Option<String> {
        let params = json!({ "uri": self.uri });
        let result = self.test.editor.client.request("agent/review/baseline", params).await;
        result.unwrap()["text"].as_str().map(str::to_owned)
    }

    async fn hunk(&self, new_text: &str) -> Scope {
        let hunks = self.test.hunks("a").await;
        let hunk = hunks.into_iter().find(|hunk| hunk.new_text.contains(new_text)).unwrap();
        Scope::Hunk { uri: self.uri.clone(), hunk_id: hunk.id }
    }

    /// All hunks of the file, as a revision showed them.
    async fn all_hunks(&self, rev: u32) -> Scope {
        let hunks = self.test.hunks("a").await.into_iter();
        let shown =
            |hunk: Hunk| ShownHunk { uri: self.uri.clone(), hunk_id: hunk.id, rev: Some(rev) };
        Scope::Hunks { hunks: hunks.map(shown).collect() }
    }

    fn file(&self) -> Scope {
        Scope::File { uri: self.uri.clone() }
    }

    async fn accept(&self, scope: Scope) -> DecideResult {
        decide(&self.test, Decision::Accept, scope, None).await
    }

    async fn reject(&self, scope: Scope) -> DecideResult {
        decide(&self.test, Decision::Reject, scope, None).await
    }

    async fn undo(&self) -> UndoDecisionResult {
        undo(&self.test).await
    }

    /// Text sent to the model when the user continues.
    async fn told(self) -> String {
        let Self { test, session_id, .. } = self;
        let end = test.play_on(&session_id, [say("I see.")]).await;
        assert_eq!(end.reason, EndReason::Completed);
        let requests = test.finish().await;
        assert_append_only(&requests);
        newest(requests.last().unwrap())
    }
}

async fn decide(
    test: &TestDaemon,
    decision: Decision,
    scope: Scope,
    rev: Option<u32>,
) -> DecideResult {
    let params = DecideParams { decision, scope, rev, feedback: None };
    test.editor.request::<Decide>(params).await.unwrap()
}

async fn undo(test: &TestDaemon) -> UndoDecisionResult {
    test.editor.request::<UndoDecision>(Default::default()).await.unwrap()
}

fn done(applied: u32) -> DecideResult {
    DecideResult { applied, ..DecideResult::default() }
}

fn stale(stale: u32) -> DecideResult {
    DecideResult { stale, ..DecideResult::default() }
}

fn undone() -> UndoDecisionResult {
    UndoDecisionResult { undone: true, ..UndoDecisionResult::default() }
}

fn pair(old: &str, new: &str) -> (String, String) {
    (old.to_owned(), new.to_owned())
}

#[tokio::test]
async fn an_accepted_hunk_becomes_the_baseline() {
    let it = Proposed::new().await;
    assert_eq!(it.pending().await, [pair("one", "1"), pair("five", "5")]);
    assert_eq!(it.baseline().await.as_deref(), Some(BEFORE));
    assert_eq!(it.accept(it.hunk("1").await).await, done(1));
    assert_eq!(it.test.text("a"), AFTER);
    assert_eq!(it.baseline().await.as_deref(), Some("1\ntwo\nthree\nfour\nfive\n"));
    assert_eq!(it.pending().await, [pair("five", "5")]);
    assert_eq!(it.told().await, "Go on");
}

#[tokio::test]
async fn a_rejected_hunk_leaves_the_text_and_the_model_is_notified() {
    let it = Proposed::new().await;
    assert_eq!(it.reject(it.hunk("5").await).await, done(1));
    assert_eq!(it.test.text("a"), "1\ntwo\nthree\nfour\nfive\n");
    assert_eq!(it.pending().await, [pair("one", "1")]);
    // The proposal was on disk; what was rejected must not stay there.
    assert_eq!(it.test.disk("a"), "1\ntwo\nthree\nfour\nfive\n");
    let told = it.told().await;
    assert!(told.contains("rejected this change of yours in a"), "{told}");
    assert!(told.contains("-five\n+5\n") && !told.contains("+1\n"), "{told}");
}

#[tokio::test]
async fn decisions_apply_to_a_hunk_file_plan_item_or_all() {
    let it = Proposed::new().await;
    let elsewhere = it.test.uri("b");
    let item = it.test.hunks("a").await[0].plan_item.clone().unwrap();
    for scope in [
        Scope::File { uri: elsewhere.clone() },
        Scope::PlanItem { session_id: it.session_id.clone(), plan_item: "9".into() },
        Scope::PlanItem { session_id: "another".into(), plan_item: item.clone() },
    ] {
        assert_eq!(it.reject(scope).await, done(0));
    }
    let scope = Scope::PlanItem { session_id: it.session_id.clone(), plan_item: item };
    assert_eq!(it.accept(scope).await, done(1));
    assert_eq!(it.pending().await, [pair("five", "5")]);
    assert_eq!(it.reject(it.hunk("5").await).await, done(1));
    assert_eq!(it.test.text("a"), "1\ntwo\nthree\nfour\nfive\n");
    assert_eq!(it.accept(Scope::All).await, done(0));
    it.test.finish().await;

    let it = Proposed::new().await;
    assert_eq!(it.accept(it.file()).await, done(2));
    assert_eq!((it.test.text("a").as_str(), it.pending().await.len()), (AFTER, 0));
    it.test.finish().await;

    let it = Proposed::new().await;
    assert_eq!(it.reject(Scope::All).await, done(2));
    assert_eq!((it.test.text("a").as_str(), it.pending().await.len()), (BEFORE, 0));
    assert_eq!(it.test.editor.edits().len(), 3, "one edit takes both back");
    assert_eq!(it.test.disk("a"), BEFORE);
    it.test.finish().await;
}

#[tokio::test]
async fn a_decision_about_several_hunks_is_one() {
    let it = Proposed::new().await;
    let review = it.test.review("a").await.unwrap();
    assert_eq!(it.reject(it.all_hunks(0).await).await, stale(2));
    let both = it.all_hunks(review.rev).await;
    assert_eq!(it.reject(both.clone()).await, done(2));
    assert_eq!(it.test.text("a"), BEFORE);
    assert_eq!(it.reject(both).await, stale(2));
    assert_eq!(it.undo().await, undone());
    assert_eq!((it.test.text("a").as_str(), it.pending().await.len()), (AFTER, 2));
    let rev = it.test.review("a").await.unwrap().rev;
    let params = DecideParams {
        decision: Decision::Reject,
        scope: it.all_hunks(rev).await,
        rev: None,
        feedback: Some("Words, please.".into()),
    };
    assert_eq!(it.test.editor.request::<Decide>(params).await.unwrap(), done(2));
    let told = it.told().await;
    assert_eq!(told.matches("Words, please.").count(), 1, "{told}");
}

#[tokio::test]
async fn a_decision_about_a_missing_hunk_is_stale() {
    let it = Proposed::new().await;
    let gone = it.hunk("1").await;
    assert_eq!(it.accept(gone.clone()).await, done(1));
    assert_eq!(it.accept(gone.clone()).await, stale(1));
    assert_eq!(it.reject(gone).await, stale(1));
    let never = Scope::Hunk { uri: it.uri.clone(), hunk_id: "x".into() };
    assert_eq!(it.reject(never).await, stale(1));
    assert_eq!(it.test.text("a"), AFTER);
    it.test.finish().await;
}

#[tokio::test]
async fn a_decision_about_a_changed_hunk_is_stale() {
    let it = Proposed::new().await;
    let rev = it.test.review("a").await.unwrap().rev;
    let (first, last) = (it.hunk("1").await, it.hunk("5").await);
    it.test.editor.type_in(&it.uri, range((0, 1), (0, 1)), "0");
    // Said in one breath with the keystroke: the review of it was not even told yet.
    let old = |scope| decide(&it.test, Decision::Reject, scope, Some(rev));
    assert_eq!(old(first.clone()).await, stale(1));
    // One that only moved, or stayed as it was, is what the user saw.
    assert_eq!(old(last).await, done(1));
    assert_eq!(it.test.text("a"), "10\ntwo\nthree\nfour\nfive\n");
    let rev = it.test.review("a").await.unwrap().rev;
    assert_eq!(decide(&it.test, Decision::Accept, first, Some(rev)).await, done(1));
    it.test.finish().await;
}

#[tokio::test]
async fn a_line_that_the_user_wrote_into_a_proposal_stays() {
    let it = Proposed::new().await;
    it.test.editor.type_in(&it.uri, range((5, 0), (5, 0)), "");
    it.test.editor.type_in(&it.uri, range((4, 1), (4, 1)), "\nmine");
    let hunks = it.test.hunks("a").await;
    assert!(hunks[1].mixed && hunks[1].new_text == "5\nmine", "{hunks:#?}");
    assert_eq!(it.reject(it.hunk("5").await).await, done(1));
    assert_eq!(it.test.text("a"), "1\ntwo\nthree\nfour\nfive\nmine\n");
    // The user's unsaved line is theirs to save.
    assert!(it.test.editor.is_dirty(&it.uri));
    assert_eq!(it.test.disk("a"), AFTER);
    it.test.finish().await;
}

#[tokio::test]
async fn rejecting_a_created_file_deletes_it_and_undo_brings_it_back() {
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let new = json!({ "path": "new", "content": "one\n" });
    test.play([call("c1", "write_file", new), say("Done.")]).await;
    let uri = test.uri("new");
    let reject = || decide(&test, Decision::Reject, Scope::File { uri: uri.clone() }, None);
    assert_eq!(reject().await, done(1));
    assert!(!test.path("new").exists() && !test.editor.is_open(&uri));
    assert!(test.review("new").await.is_none());
    assert_eq!(undo(&test).await, undone());
    assert_eq!(test.disk("new"), "one\n");
    assert_eq!(test.hunks("new").await.len(), 1);
    // An editor may close its document only after it has answered.
    test.open_file("new");
    test.editor.will_fail(ApplyFault::LeaveOpen);
    let edits = test.editor.edits().len();
    let closing = async {
        test.edits(edits + 1).await;
        test.editor.close(&uri);
    };
    let (rejected, ()) = tokio::join!(reject(), closing);
    assert_eq!(rejected, done(1));
    assert_eq!(undo(&test).await, undone());
    // With a line of the user's in it the file is theirs too.
    test.editor.type_in(&uri, range((1, 0), (1, 0)), "mine\n");
    assert_eq!(reject().await, done(1));
    assert_eq!(test.text("new"), "mine\n");
    test.finish().await;
}

#[tokio::test]
async fn the_reason_of_a_rejection_reaches_the_model_and_is_bounded() {
    let it = Proposed::new().await;
    let scope = it.hunk("5").await;
    let feedback = Some(format!("  Digits are not words. {} ", "x".repeat(3_000)));
    let params = DecideParams { decision: Decision::Reject, scope, rev: None, feedback };
    assert_eq!(it.test.editor.request::<Decide>(params).await.unwrap(), done(1));
    let told = it.told().await;
    assert!(told.contains("The user's reason: Digits are not words. xxx"), "{told}");
    assert!(told.matches('x').count() < 2_000, "{told}");
}

#[tokio::test]
async fn undo_of_an_accept_and_of_a_reject() {
    let it = Proposed::new().await;
    assert_eq!(it.accept(it.hunk("1").await).await, done(1));
    assert_eq!(it.reject(it.hunk("5").await).await, done(1));
    assert_eq!(it.undo().await, undone());
    assert_eq!(it.test.text("a"), AFTER);
    assert_eq!(it.pending().await, [pair("five", "5")]);
    assert_eq!(it.undo().await, undone());
    assert_eq!(it.pending().await, [pair("one", "1"), pair("five", "5")]);
    assert_eq!(it.baseline().await.as_deref(), Some(BEFORE));
    let nothing = it.undo().await;
    assert!(!nothing.undone && nothing.problem.is_some());
    let told = it.told().await;
    let rejected = told.find("rejected this change").unwrap();
    let back = told.find("took back a rejection").unwrap();
    assert!(rejected < back, "{told}");
}

#[tokio::test]
async fn undo_of_a_decision_keeps_later_text_of_the_user() {
    let it = Proposed::new().await;
    assert_eq!(it.accept(Scope::All).await, done(2));
    it.test.editor.type_in(&it.uri, range((2, 0), (2, 5)), "mine");
    assert_eq!(it.undo().await, undone());
    assert_eq!(it.test.text("a"), "1\ntwo\nmine\nfour\n5\n");
    assert_eq!(it.pending().await, [pair("one", "1"), pair("five", "5")]);
    assert_eq!(it.baseline().await.as_deref(), Some("one\ntwo\nmine\nfour\nfive\n"));

    assert_eq!(it.reject(Scope::All).await, done(2));
    it.test.editor.type_in(&it.uri, range((0, 0), (0, 3)), "more");
    let refused = it.undo().await;
    assert!(!refused.undone && refused.problem.unwrap().english().contains("stays as it is"));
    assert_eq!(it.test.text("a"), "more\ntwo\nmine\nfour\nfive\n");
    it.test.finish().await;
}

#[tokio::test]
async fn undo_in_the_editor_does_not_decide_a_hunk() {
    let it = Proposed::new().await;
    let undo = |from, to, text| it.test.editor.type_in(&it.uri, range((4, from), (4, to)), text);
    undo(0, 1, "five");
    assert_eq!(it.pending().await, [pair("one", "1")]);
    assert_eq!(it.baseline().await.as_deref(), Some(BEFORE));
    // Redo.
    undo(0, 4, "5");
    assert_eq!(it.pending().await, [pair("one", "1"), pair("five", "5")]);
    assert_eq!(it.baseline().await.as_deref(), Some(BEFORE));

    // An editor's undo of a reject brings the proposal back, not its acceptance.
    assert_eq!(it.reject(it.hunk("5").await).await, done(1));
    undo(0, 4, "5");
    assert_eq!(it.pending().await, [pair("one", "1"), pair("five", "5")]);
    it.test.finish().await;
}

#[tokio::test]
async fn a_rejection_that_the_editor_refuses_changes_nothing() {
    let it = Proposed::new().await;
    it.accept(it.hunk("1").await).await;
    it.test.editor.will_fail(ApplyFault::Refuse(RefusedEdit::ReadOnly));
    let refused = it.reject(it.hunk("5").await).await;
    assert_eq!((refused.applied, refused.stale), (0, 0));
    let (file, reason) = ("a".to_owned(), EditProblem::FileReadOnly);
    assert_eq!(refused.failed, [ReviewProblem::EditRefused { file, reason }.message()]);
    assert_eq!(refused.failed[0].english(), "a: the file is read-only");
    assert_eq!(it.pending().await, [pair("five", "5")]);
    // The last decision is the accept.
    assert_eq!(it.undo().await, undone());
    assert_eq!(it.pending().await.len(), 2);
    assert_eq!(it.told().await, "Go on", "nothing was rejected");
}

#[tokio::test]
async fn an_undo_without_a_decision_names_its_code() {
    let it = Proposed::new().await;
    let nothing = it.undo().await;
    let why = ReviewProblem::NothingToUndo.message();
    assert_eq!((nothing.undone, nothing.problem), (false, Some(why)));
    it.test.finish().await;
}

#[tokio::test]
async fn a_decision_saves_only_documents_that_were_clean() {
    let it = Proposed::new().await;
    // A clean file was saved when the turn ended.
    assert!(!it.test.editor.is_dirty(&it.uri));
    it.test.editor.type_in(&it.uri, range((2, 0), (2, 5)), "mine");
    assert_eq!(it.reject(it.hunk("5").await).await, done(1));
    it.test.play_on(&it.session_id, [edit("c9", "a", "two", "2"), say("Done.")]).await;
    it.pending().await;
    assert!(it.test.editor.is_dirty(&it.uri));
    assert_eq!(it.test.disk("a"), AFTER);
    // Once the user has saved, the agent's own changes may be saved again.
    it.test.editor.save(&it.uri);
    it.test.play_on(&it.session_id, [edit("c10", "a", "four", "4"), say("Done.")]).await;
    it.pending().await;
    assert!(!it.test.editor.is_dirty(&it.uri));
    assert_eq!(it.test.disk("a"), "1\n2\nmine\n4\nfive\n");
    it.test.finish().await;
}

#[tokio::test]
async fn a_decision_holds_after_the_tab_is_closed() {
    let it = Proposed::new().await;
    it.test.editor.close(&it.uri);
    assert_eq!(it.pending().await.len(), 2);
    assert_eq!(it.accept(it.hunk("1").await).await, done(1));
    assert_eq!(it.reject(it.hunk("5").await).await, done(1));
    assert!(it.pending().await.is_empty());
    assert_eq!(it.test.disk("a"), "1\ntwo\nthree\nfour\nfive\n");
    // Nothing is pending and the tab is gone: the last decision can be taken back all the same.
    if it.test.editor.is_open(&it.uri) {
        it.test.editor.close(&it.uri);
    }
    assert!(it.pending().await.is_empty());
    assert_eq!(
        it.undo().await,
        UndoDecisionResult { undone: true, ..UndoDecisionResult::default() }
    );
    assert_eq!(it.pending().await, [("five".to_owned(), "5".to_owned())]);
    assert_eq!(it.test.disk("a"), AFTER);
    it.test.finish().await;
}

/// An undo means what the user decided last, also when that is still on its way.
#[tokio::test]
async fn an_undo_waits_for_the_rejection_before_it() {
    let it = Proposed::new().await;
    assert_eq!(it.accept(it.hunk("1").await).await, done(1));
    let scope = it.hunk("5").await;
    let edits = it.test.editor.edits().len();
    it.test.editor.will_fail(ApplyFault::Hold);
    let deciding = async {
        it.test.edits(edits + 1).await;
        let undoing = async {
            // The undo was taken in when this is answered.
            it.test.hunks("a").await;
            it.test.editor.release();
        };
        tokio::join!(it.undo(), undoing)
    };
    let (rejected, (taken_back, ())) = tokio::join!(it.reject(scope), deciding);
    assert_eq!((rejected, taken_back), (done(1), undone()));
    assert_eq!(it.test.text("a"), AFTER);
    assert_eq!(it.pending().await, [pair("five", "5")]);
    assert_eq!(it.undo().await, undone());
    assert_eq!(it.pending().await, [pair("one", "1"), pair("five", "5")]);
    it.test.finish().await;
}

/// An accept is taken back beside newer proposals, but not below them.
#[tokio::test]
async fn undo_of_an_accept_leaves_newer_proposals_as_they_are() {
    for restarts in [false, true] {
        let Proposed { mut test, session_id, .. } = Proposed::new().await;
        assert_eq!(decide(&test, Decision::Accept, Scope::All, None).await, done(2));
        test.play_on(
            &session_id,
            [edit("c3", "a", "three", "3"), edit("c4", "a", "5", "V"), say("Done.")],
        )
        .await;
        let pending = async |test: &TestDaemon| -> Vec<(String, String)> {
            let hunks = test.hunks("a").await;
            hunks.into_iter().map(|hunk| (hunk.old_text, hunk.new_text)).collect()
        };
        assert_eq!(pending(&test).await, [pair("three", "3"), pair("5", "V")]);
        if restarts {
            test = test.restart().await;
            assert_eq!(pending(&test).await.len(), 2);
            test.open_file("a");
        }
        let result = undo(&test).await;
        let message = result.problem.unwrap().english();
        let covered = "a: the edit “5” stays accepted: a newer edit changes its lines";
        assert_eq!((result.undone, message.as_str()), (false, covered));
        assert_eq!(pending(&test).await, [pair("one", "1"), pair("three", "3"), pair("5", "V"),]);
        assert_eq!(decide(&test, Decision::Reject, Scope::All, None).await, done(3));
        assert_eq!(test.text("a"), "one\ntwo\nthree\nfour\n5\n");
        test.finish().await;
    }
}

/// A pending edit that grows by a later call keeps its id: the new lines are the agent's, too.
#[tokio::test]
async fn undo_of_an_accept_keeps_a_newer_proposal_that_joined_a_pending_edit() {
    let it = Proposed::new().await;
    let scope = it.hunk("1").await;
    assert_eq!(it.accept(scope).await, done(1));
    it.test.play_on(&it.session_id, [edit("c3", "a", "four\n5", "IV\nV"), say("Done.")]).await;
    assert_eq!(it.pending().await, [pair("four\nfive", "IV\nV")]);
    assert_eq!(it.undo().await, undone());
    assert_eq!(it.pending().await, [pair("one", "1"), pair("four\nfive", "IV\nV")]);
    assert_eq!(it.reject(Scope::All).await, done(2));
    assert_eq!(it.test.text("a"), BEFORE);
    it.test.finish().await;
}

/// However many files a decision is about, each is told of once, and an accept edits nothing: the
/// editor draws the news of all of them together.
#[tokio::test]
async fn accepting_many_files_publishes_each_review_once() {
    const FILES: usize = 20;
    let test = TestDaemon::open(Wire::Anthropic, &[]).await;
    let write = |file: usize| {
        let name = format!("file-{file}");
        call(&name, "write_file", json!({ "path": name, "content": "new\n" }))
    };
    let end = test.play((0..FILES).map(write).chain([say("Done.")])).await;
    assert_eq!(end.reason, EndReason::Completed);
    for file in 0..FILES {
        assert_eq!(test.hunks(&format!("file-{file}")).await.len(), 1);
    }

    let (told, sent) = (test.editor.notices().len(), test.editor.edits().len());
    assert_eq!(decide(&test, Decision::Accept, Scope::All, None).await, done(FILES as u32));
    // What is asked next is answered after all that was told before.
    for file in 0..FILES {
        assert_eq!(test.hunks(&format!("file-{file}")).await.len(), 0);
    }
    let news: Vec<_> = test.editor.notices().split_off(told);
    let reports = news.iter().filter_map(|notice| match notice {
        Notice::Review(review) => Some((review.path.clone(), review.hunks.len())),
        _ => None,
    });
    let mut reports: Vec<_> = reports.collect();
    reports.sort();
    let mut wanted: Vec<_> = (0..FILES).map(|file| (format!("file-{file}"), 0)).collect();
    wanted.sort();
    assert_eq!(reports, wanted);
    assert_eq!(news.len(), FILES, "nothing else is said");
    assert_eq!(test.editor.edits().len(), sent);
    test.finish().await;
}

/// The line is named, so that an editor can ask; without a question it stays, as every editor expects.
#[tokio::test]
async fn what_the_user_typed_inside_a_line_of_the_agent_stays_or_is_dropped_with_it() {
    for (decision, left) in
        [(Decision::Reject, "a\nfirst // short\nold\nb\n"), (Decision::Drop, "a\nold\nb\n")]
    {
        let test = TestDaemon::open(Wire::Anthropic, &[("a", "a\nold\nb\n")]).await;
        let uri = test.open_file("a");
        let end = test.play([edit("c1", "a", "old\n", "first\nsecond\n"), say("Done.")]).await;
        assert_eq!(end.reason, EndReason::Completed, "{}", end.summary);
        assert_eq!(test.hunks("a").await[0].typed_in, None);
        test.editor.type_in(&uri, range((1, 5), (1, 5)), " // short");
        assert_eq!(test.hunks("a").await[0].typed_in.as_deref(), Some("first // short"));
        assert_eq!(decide(&test, decision, Scope::File { uri }, None).await, done(1));
        assert_eq!(test.text("a"), left);
        assert!(undo(&test).await.undone);
        assert_eq!(test.text("a"), "a\nfirst // short\nsecond\nb\n");
        assert_eq!(test.hunks("a").await[0].typed_in.as_deref(), Some("first // short"));
        test.finish().await;
    }
}
