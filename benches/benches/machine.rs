//! What the loop itself costs, without any I/O: per feedback call, and with the three things that go
//! wrong most (versions, timeouts, truncation) in the call.

use std::time::Duration;

use benches::{Machine, text};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use feedback::{Conclusion, KnownBy, Policy, Reason};

fn calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("machine");
    let mut round = 0;
    let mut machine = Machine::ready(Duration::from_secs(5));

    // How many events one call is, so that the time per event can be read off the throughput.
    let before = machine.events;
    machine.ask(&text(u64::MAX));
    machine.push(machine.version(), &[]);
    group.throughput(Throughput::Elements(machine.events - before));
    group.bench_function("edit answered by a push, per event", |bencher| {
        bencher.iter(|| {
            round += 1;
            assert!(machine.ask(&text(round)).is_none());
            let report = machine.push(machine.version(), &["boom".to_owned()]).expect("an answer");
            assert_eq!((report.conclusion, report.counts.errors), (Conclusion::Errors, 1));
            assert_eq!(report.version, Some(machine.version()));
        });
    });

    group.throughput(Throughput::Elements(1));
    group.bench_function("versioning: five stale pushes before the right one", |bencher| {
        bencher.iter(|| {
            round += 1;
            machine.ask(&text(round));
            let version = machine.version();
            for _ in 0..5 {
                assert!(machine.push(version - 1, &["stale".to_owned()]).is_none());
            }
            let report = machine.push(version, &[]).expect("an answer");
            assert_eq!((report.conclusion, report.known_by), (Conclusion::Clean, Some(KnownBy::Versioned)));
        });
    });

    group.bench_function("timeouts: a silent server, to the end of the budget", |bencher| {
        let mut machine = Machine::ready(Duration::from_millis(100));
        bencher.iter(|| {
            round += 1;
            assert!(machine.ask(&text(round)).is_none());
            let report = machine.wait().expect("an answer");
            assert_eq!((report.conclusion, &report.reason), (Conclusion::Pending, &Some(Reason::Silent)));
            assert_eq!(report.waited, Duration::from_millis(100));
        });
    });

    let policy = Policy::default();
    let many: Vec<String> = (0..5_000).map(|n| format!("boom {n} {}", "x".repeat(200))).collect();
    // The server's part, making the message, is not what is timed.
    let mut next_version = machine.version();
    let mut frame = || {
        next_version += 1;
        Machine::frame(next_version, &many)
    };
    group.bench_function("truncation: 5,000 errors to twenty lines", |bencher| {
        let timed = |frame| {
            round += 1;
            machine.ask(&text(round));
            let report = machine.output(frame).expect("an answer");
            let text = report.render(&policy);
            assert!(text.contains("5000 errors") && text.ends_with("… and 4980 more"), "{text}");
            assert_eq!(text.lines().count(), policy.lines_max + 2);
        };
        bencher.iter_batched(&mut frame, timed, BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
