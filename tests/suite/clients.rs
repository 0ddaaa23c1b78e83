//! Clients of the daemon: the server as such, standard LSP clients, real editors, the command line.

mod emacs;
mod ends;
mod headless;
mod helix;
mod lifecycle;
mod neovim;
mod processes;
mod server;
mod standard_client;
mod vim;
