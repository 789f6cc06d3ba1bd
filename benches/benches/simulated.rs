//! The simulated world: whole scenarios per second, and feedback calls per second, bytes and all.

use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn scenarios(criterion: &mut Criterion) {
    let all = assay::suite::embedded().expect("the built-in scenarios parse");
    let all: Vec<_> = all.iter().collect();
    let mut group = criterion.benchmark_group("simulated");
    group.sample_size(10);
    group.throughput(Throughput::Elements(all.len() as u64));
    group.bench_function("every scenario", |bencher| {
        let mut seed = 0;
        bencher.iter(|| {
            seed += 1;
            let checks = assay::suite::run_simulated(&all, seed);
            let summary = assay::results::Summary::of(&checks);
            assert_eq!((summary.failed, summary.harness_error), (0, 0), "seed {seed}");
            assert!(summary.passed > 0);
        });
    });
    group.finish();
}

fn calls(criterion: &mut Criterion) {
    const CALLS: u64 = 1_000;
    let mut group = criterion.benchmark_group("simulated calls");
    group.sample_size(20);
    group.throughput(Throughput::Elements(CALLS));
    for name in ["push", "pull"] {
        let script = Arc::new(fake_lsp::load(name).expect("the built-in scripts parse"));
        group.bench_function(name, |bencher| {
            let mut seed = 0;
            bencher.iter(|| {
                seed += 1;
                let carried = assay::sim::throughput(&script, seed, CALLS).expect("every answer is the truth");
                assert_eq!((carried.calls, carried.with_errors), (CALLS, CALLS / 2));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, scenarios, calls);
criterion_main!(benches);
