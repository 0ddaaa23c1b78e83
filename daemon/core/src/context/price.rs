//! Prices of tokens, for models whose price is known.

use serde::{Deserialize, Serialize};

use crate::model::Usage;

/// Nano-dollars for a token: a thousand times the dollars for a million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
}

impl Price {
    /// From dollars for a million tokens. `None`: not an amount.
    pub fn per_million(input: f64, cached: f64, output: f64) -> Option<Self> {
        let nano = |dollars: f64| {
            // A price beyond this is a mistake.
            (0.0..=1e6).contains(&dollars).then(|| (dollars * 1e3).round() as u64)
        };
        Some(Self { input: nano(input)?, cached: nano(cached)?, output: nano(output)? })
    }

    fn of(&self, usage: Usage) -> u64 {
        let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens);
        let cached = usage.cached_tokens.min(usage.input_tokens);
        fresh
            .saturating_mul(self.input)
            .saturating_add(cached.saturating_mul(self.cached))
            .saturating_add(usage.output_tokens.saturating_mul(self.output))
    }
}

/// Estimated cost of a session. Charges of servers for writing their caches are not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cost {
    nano_dollars: u64,
    /// Some of its tokens had no known price: the sum would mislead.
    unknown: bool,
}

impl Cost {
    pub fn add(&mut self, usage: Usage, price: Option<Price>) {
        match price {
            Some(price) => self.nano_dollars = self.nano_dollars.saturating_add(price.of(usage)),
            None => self.unknown |= usage != Usage::default(),
        }
    }

    pub fn micro_dollars(&self) -> Option<u64> {
        (!self.unknown && self.nano_dollars > 0).then_some(self.nano_dollars.div_ceil(1_000))
    }
}
