//! Authors of instruction files, in a folder that the test changes as a command would.

use super::*;
use crate::store::sessions;

struct Place {
    folder: tempfile::TempDir,
    workspace: Workspace,
    sources: Arc<Sources>,
}

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(vec![folder.path().to_owned()]).unwrap();
        let place = Self { folder, workspace, sources: Arc::default() };
        files.iter().for_each(|(name, text)| place.put(name, text));
        place
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.resolve(name).unwrap().as_path().to_owned()
    }

    fn is_users(&self, name: &str) -> bool {
        let called = self.workspace.root().join(name);
        let (path, text) = text_of(&self.workspace, &Docs::default(), &called).unwrap();
        self.sources.is_users(&self.workspace, &called, &path, &text)
    }

    fn command(&self, does: impl FnOnce()) {
        let begins = self.sources.command_begins(&self.workspace, &Docs::default());
        let running = begins.unwrap();
        does();
        running.finish();
    }
}

#[test]
fn a_file_the_agent_changed_is_the_users_after_a_decision() {
    let place = Place::new(&[("AGENTS.md", "Mine.")]);
    assert!(place.is_users("AGENTS.md"));
    place.sources.agent_changed(&place.path("AGENTS.md"));
    place.sources.user_saved(&place.path("AGENTS.md"), Some("Mine."));
    assert!(!place.is_users("AGENTS.md"), "the editor saves for the agent, too");
    place.sources.user_decided(&place.path("AGENTS.md"), Some("Mine."));
    assert!(place.is_users("AGENTS.md"));
    // A decision about what is the user's anyway says nothing about what a command does later.
    place.command(|| place.put("AGENTS.md", "Yours."));
    place.sources.user_decided(&place.path("AGENTS.md"), Some("Yours."));
    assert!(!place.is_users("AGENTS.md"));
}

#[test]
fn after_a_command_only_files_it_cannot_have_made_are_the_users() {
    let place = Place::new(&[("AGENTS.md", "Mine."), ("a/CLAUDE.md", "Mine.")]);
    place.command(|| {
        place.put("AGENTS.md", "Yours.");
        place.put("b/AGENTS.md", "Yours.");
    });
    assert!(!place.is_users("AGENTS.md") && !place.is_users("b/AGENTS.md"));
    assert!(place.is_users("a/CLAUDE.md"));
    place.put("AGENTS.md", "Mine.");
    assert!(place.is_users("AGENTS.md"), "it has the text again that the user gave it");
    // Long after the command, by hand.
    {
        let mut commands = place.sources.commands.lock();
        let commands = commands.commands.as_mut().unwrap();
        commands.past.iter_mut().for_each(|(from, to)| {
            *from -= Duration::from_secs(60);
            *to -= Duration::from_secs(60);
        });
        commands.since -= Duration::from_secs(60);
    }
    place.put("c/AGENTS.md", "Mine.");
    assert!(place.is_users("c/AGENTS.md"));
    // A command that moves the folder of such a file makes it its own.
    place.put("d/AGENTS.md", "Fetched.");
    place.command(|| {
        fs::rename(place.folder.path().join("d"), place.folder.path().join("e")).unwrap();
    });
    assert!(!place.is_users("e/AGENTS.md"));
    place.sources.user_saved(&place.path("e/AGENTS.md"), Some("Fetched."));
    assert!(place.is_users("e/AGENTS.md"), "the user saved it");
}

#[test]
fn a_restart_forgets_neither_commands_nor_what_the_user_saved() {
    let state = tempfile::tempdir().unwrap();
    let mut place = Place::new(&[("AGENTS.md", "Mine."), ("a/CLAUDE.md", "Mine.")]);
    let restart = |place: &mut Place| {
        place.sources = Arc::new(Sources::new(Some(state.path().to_owned())));
    };
    restart(&mut place);
    assert!(place.is_users("AGENTS.md"));
    place.command(|| {
        place.put("AGENTS.md", "Yours.");
        place.put("b/AGENTS.md", "Yours.");
        place.put("c/AGENTS.md", "Mine.");
        place.sources.user_saved(&place.path("c/AGENTS.md"), Some("Mine."));
    });
    restart(&mut place);
    let users = |place: &Place, names: &[&str]| {
        names.iter().map(|name| place.is_users(name)).collect::<Vec<_>>()
    };
    let names = ["AGENTS.md", "b/AGENTS.md", "a/CLAUDE.md", "c/AGENTS.md"];
    assert_eq!(users(&place, &names), [false, false, true, true]);
    place.sources.user_accepted(&place.workspace, &Docs::default(), &place.path("b/AGENTS.md"));
    restart(&mut place);
    assert_eq!(users(&place, &names), [false, true, true, true]);
    // One that runs when its daemon is killed.
    let begins = place.sources.command_begins(&place.workspace, &Docs::default());
    place.put("d/AGENTS.md", "Yours.");
    std::mem::forget(begins);
    restart(&mut place);
    assert!(!place.is_users("d/AGENTS.md"));
    // A damaged record: only what the user saves.
    let folder = sessions::folder(state.path(), place.workspace.folders());
    fs::write(folder.join("authors.json"), "{").unwrap();
    restart(&mut place);
    assert!(!place.is_users("a/CLAUDE.md"));
    place.sources.user_saved(&place.path("a/CLAUDE.md"), Some("Mine."));
    assert!(place.is_users("a/CLAUDE.md"));
}

#[test]
fn a_file_that_the_user_moves_stays_theirs() {
    let place = Place::new(&[("a/AGENTS.md", "Mine.")]);
    let rename = |from: &str, to: &str| {
        let folder = place.folder.path();
        fs::rename(folder.join(from), folder.join(to)).unwrap();
    };
    place.command(|| {});
    for (from, to) in &mut place.sources.commands.lock().commands.as_mut().unwrap().past {
        // Long before the user does anything.
        *from -= Duration::from_secs(60);
        *to -= Duration::from_secs(60);
    }
    rename("a", "b");
    assert!(place.is_users("b/AGENTS.md"));
    place.command(|| rename("b", "e"));
    assert!(!place.is_users("e/AGENTS.md"));
}

#[test]
fn folders_marked_as_generated_are_not_the_users() {
    let place = Place::new(&[
        ("env/pyvenv.cfg", ""),
        ("env/lib/AGENTS.md", "x"),
        ("cache/CACHEDIR.TAG", ""),
        ("cache/AGENTS.md", "x"),
        ("src/AGENTS.md", "x"),
    ]);
    assert!(!place.is_users("env/lib/AGENTS.md") && !place.is_users("cache/AGENTS.md"));
    assert!(place.is_users("src/AGENTS.md"));
}
