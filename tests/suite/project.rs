//! Rules of the project itself, generated files, fuzz seeds.

mod architecture;
mod editor_words;
mod end_to_end;
mod fuzz;
mod generated;
mod git_config;
mod language;
mod sizes;
mod structure;
