//! Rules of the project itself, generated files, fuzz seeds.

mod architecture;
mod editor_words;
mod fuzz;
mod generated;
mod git_config;
mod language;
mod structure;
