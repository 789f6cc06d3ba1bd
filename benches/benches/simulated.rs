//! The simulated world: whole scenarios per second, and feedback calls per second, bytes and all.

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

criterion_group!(benches, scenarios);
criterion_main!(benches);
