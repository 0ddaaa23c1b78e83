//! The agent loop against a scripted model: turns, queue, plan, subagents, hooks, context.

mod alternation;
mod ask_mode;
mod context;
mod dialects;
mod faults;
mod hooks;
mod instructions;
mod loop_basics;
mod overflow;
mod queue;
mod reminders;
mod subagents;
mod tasks;
mod turns;
