//! The agent loop against a scripted model: turns, queue, plan, subagents, hooks, context.

mod ask_mode;
mod ask_user;
mod attachments;
mod call_facts;
mod call_forms;
mod client_requests;
mod context;
mod context_overflow;
mod dialects;
mod ends;
mod faults;
mod hooks;
mod instructions;
mod message_roles;
mod no_model;
mod outside_paths;
mod plan_rules;
mod processes;
mod queue;
mod reminders;
mod several_folders;
mod slips;
mod subagents;
mod tasks;
mod turns;
