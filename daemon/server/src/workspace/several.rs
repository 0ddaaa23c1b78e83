//! Paths in a workspace of several folders: each begins with the name of its folder, as in VS Code.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use cairn_core::file_names::is_deceptive;

use super::{PathError, Workspace, WorkspacePath};

/// Most places that an error names.
const MAX_NAMED: usize = 5;

/// Folder as the editor opened it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFolder {
    pub path: PathBuf,
    /// Name that the editor shows for it.
    pub name: Option<String>,
}

impl From<PathBuf> for OpenFolder {
    fn from(path: PathBuf) -> Self {
        Self { path, name: None }
    }
}

/// Names of the folders for the front of a path: the editor's, else the last part of the folder's path.
/// `None`: another folder has the same name, or it cannot be the first part of a path.
pub(super) fn names(folders: &[OpenFolder]) -> Vec<Option<String>> {
    let candidates = |folder: &OpenFolder| -> Vec<String> {
        let names = [folder.name.clone(), last_name(&folder.path)].into_iter().flatten();
        names.filter(|name| is_plain(name)).collect()
    };
    let candidates: Vec<Vec<String>> = folders.iter().map(candidates).collect();
    let is_free = |at: usize, name: &String| {
        let others = candidates.iter().enumerate().filter(|(other, _)| *other != at);
        others.flat_map(|(_, names)| names).all(|other| other.to_lowercase() != name.to_lowercase())
    };
    let of = |(at, names): (usize, &Vec<String>)| names.iter().find(|it| is_free(at, it)).cloned();
    candidates.iter().enumerate().map(of).collect()
}

fn last_name(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_str()?.to_owned())
}

/// True for text that is one part of a path, and is read as nothing else.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    is_one
        && !name.starts_with(['~', '"'])
        && name.trim() == name
        && !name.chars().any(is_deceptive)
        && !name.contains(':')
}

impl Workspace {
    /// The folders, without those inside another one: start of a search through all files.
    pub fn roots(&self) -> Vec<WorkspacePath> {
        let inside_another = |at: &usize| {
            let others = self.canonical.iter().enumerate().filter(|(other, _)| other != at);
            others.into_iter().any(|(other, folder)| {
                self.canonical[*at].starts_with(folder)
                    && (self.canonical[*at] != *folder || other < *at)
            })
        };
        let tops = (0..self.folders.len()).filter(|at| !inside_another(at));
        tops.map(|at| self.path_in(at, Path::new(""))).collect()
    }

    /// Names of the folders for the front of a path; empty if one folder is open.
    pub fn folder_names(&self) -> Vec<String> {
        match self.folders.len() {
            1 => Vec::new(),
            count => {
                (0..count).map(|at| self.path_in(at, Path::new("")).display().to_owned()).collect()
            }
        }
    }

    /// Absolute path of a relative one: below the folder whose name it begins with, else in the one
    /// folder where it exists or where its parent does. Blocks if several folders are open.
    pub(super) fn beneath(&self, given: &Path) -> Result<PathBuf, PathError> {
        if let [only] = &self.folders[..] {
            return Ok(only.join(given));
        }
        let mut parts = given.components().filter(|part| *part != Component::CurDir);
        let first = parts.next().and_then(|part| part.as_os_str().to_str());
        let rest: PathBuf = parts.collect();
        let named = self
            .names
            .iter()
            .zip(&self.folders)
            .find(|(name, _)| name.as_deref() == first && first.is_some());
        if let Some((_, folder)) = named {
            return Ok(folder.join(rest));
        }
        let by_last_name =
            self.folders.iter().filter(|it| first.is_some() && last_name(it).as_deref() == first);
        let places = by_last_name
            .map(|it| it.join(&rest))
            .chain(self.folders.iter().map(|it| it.join(given)));
        let places: BTreeSet<PathBuf> = places
            .filter_map(|place| self.where_it_leads(&place))
            .filter(|place| self.holds(place))
            .collect();
        let is_there = |place: &&PathBuf| fs::symlink_metadata(place).is_ok();
        let parent_is_there = |place: &&PathBuf| place.parent().is_some_and(Path::is_dir);
        let mut fitting: Vec<&PathBuf> = places.iter().filter(is_there).collect();
        let exists = !fitting.is_empty();
        if !exists {
            fitting = places.iter().filter(parent_is_there).collect();
        }
        if fitting.is_empty() {
            fitting = places.iter().collect();
        }
        match fitting[..] {
            // The first folder gives the error for the model.
            [] => Ok(self.root().join(given)),
            [only] => Ok(only.clone()),
            _ => Err(self.ambiguous(given, &fitting, exists)),
        }
    }

    fn ambiguous(&self, given: &Path, places: &[&PathBuf], exists: bool) -> PathError {
        let shown = places.iter().take(MAX_NAMED).filter_map(|place| self.place_of(place));
        let shown: Vec<String> =
            shown.map(|(folder, inside)| format!("`{}`", self.path_in(folder, &inside))).collect();
        let (given, places) =
            (super::quoted(&given.to_string_lossy()).into_owned(), shown.join(", "));
        if exists {
            PathError::InSeveral { given, places }
        } else {
            PathError::InNone { given, places }
        }
    }
}

#[cfg(test)]
mod tests;
