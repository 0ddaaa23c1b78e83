//! Samples, and the table they end in.

use std::{fmt, time::Duration};

/// Rows in the order they were measured.
#[derive(Default)]
pub(crate) struct Table(Vec<String>);

/// Upper limit of a value.
#[derive(Clone, Copy)]
pub(crate) enum Aim {
    Below(f64),
    None,
}

#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Micros,
    Millis,
    MegaBytes,
    Bytes,
    Ratio,
    Count,
}

impl Table {
    /// The aim is for the median: the machine has other things to do.
    pub(crate) fn row(&mut self, what: &str, unit: Unit, aim: Aim, mut samples: Vec<f64>) {
        samples.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (samples.first(), samples.last()) else {
            eprintln!("{what}: could not be measured here");
            return;
        };
        let middle = median(&samples);
        let aim = match aim {
            Aim::Below(limit) if middle < limit => format!("< {}", unit.show(limit)),
            Aim::Below(limit) => format!("**missed** < {}", unit.show(limit)),
            Aim::None => String::new(),
        };
        let [least, middle, most] = [*least, middle, *most].map(|value| unit.show(value));
        let count = samples.len();
        eprintln!("{what}: {middle}");
        self.0.push(format!("| {what} | {aim} | {least} | {middle} | {most} | {count} |"));
    }

    /// Times, in the unit given.
    pub(crate) fn times(&mut self, what: &str, unit: Unit, aim: Aim, samples: &[Duration]) {
        self.row(what, unit, aim, samples.iter().map(|sample| unit.of(*sample)).collect());
    }
}

impl Unit {
    fn of(self, time: Duration) -> f64 {
        match self {
            Unit::Micros => time.as_secs_f64() * 1e6,
            Unit::Millis => time.as_secs_f64() * 1e3,
            Unit::MegaBytes | Unit::Bytes | Unit::Ratio | Unit::Count => {
                panic!("a time has another unit")
            }
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Unit::Micros => format!("{value:.0} µs"),
            Unit::Millis => format!("{value:.2} ms"),
            Unit::MegaBytes => format!("{value:.1} MB"),
            Unit::Bytes => format!("{value:.0} B"),
            Unit::Ratio => format!("{value:.2}"),
            Unit::Count => format!("{value:.1}"),
        }
    }
}

/// Median of sorted samples; at least one is required.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Median in seconds.
pub(crate) fn middle(times: &[Duration]) -> f64 {
    let mut seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    median(&seconds)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | aim | min | median | max | samples |")?;
        write!(f, "|---|---|---|---|---|---|")?;
        self.0.iter().try_for_each(|row| write!(f, "\n{row}"))
    }
}
