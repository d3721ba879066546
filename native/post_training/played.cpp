#include "post_training/played.hpp"

#include <numeric>

namespace yantra::post_training {

namespace {

void note_samples(const Job& job, const Loop& loop, Played& into) {
    into.samples = loop.samples();
    for (u32 at = 0; at < loop.buffer().submitted(); ++at) {
        const GroupId group(at);
        const u32 many = job.groups.last(group).index() - job.groups.first(group).index();
        for (u32 number = 0; number < many; ++number) {
            into.group.push_back(at);
            into.number.push_back(number);
        }
    }
}

// By sample, each in the order in which they were made; equal versions in a row are one.
void note_pieces(const Pieces& pieces, Played& into) {
    const std::size_t samples = into.group.size();
    std::vector<std::size_t> place(samples + 1);
    for (const Pieces::Piece& of : pieces.log()) {
        ++place[of.sample.index() + 1];
    }
    std::partial_sum(place.begin(), place.end(), place.begin());
    std::vector<const Pieces::Piece*> sorted(pieces.log().size());
    for (const Pieces::Piece& of : pieces.log()) {
        sorted[place[of.sample.index()]++] = &of;
    }
    std::size_t at = 0;
    for (std::size_t sample = 0; sample < samples; ++sample) {
        into.piece_begin.push_back(static_cast<i64>(into.piece_version.size()));
        for (const std::size_t begin = at; at < place[sample]; ++at) {
            if (at > begin && sorted[at]->version == sorted[at - 1]->version) {
                into.piece_tokens.back() += sorted[at]->tokens;
                continue;
            }
            into.piece_version.push_back(sorted[at]->version);
            into.piece_tokens.push_back(sorted[at]->tokens);
        }
    }
    into.piece_begin.push_back(static_cast<i64>(into.piece_version.size()));
}

void note_replicas(const Loop& loop, Played& into) {
    for (const Spent::Row& row : loop.spent().replicas()) {
        into.replica_ticks.insert(into.replica_ticks.end(), row.begin(), row.end());
    }
    into.trainer_ticks.assign(loop.spent().trainer().begin(), loop.spent().trainer().end());
    for (const Replica& of : loop.replicas()) {
        const Work& work = of.work();
        into.tokens += work.tokens;
        into.recomputed += work.recomputed;
        into.operations.push_back(work.amounts.operations);
        into.heavy_ns.push_back(work.amounts.heavy_ns);
        into.preempted.push_back(static_cast<i64>(work.preempted));
    }
}

}  // namespace

Played play(const Job& job) {
    Loop loop(job);
    Played made;
    made.is_starved = !loop.run();
    made.end = loop.now();
    made.steps = loop.trainer().steps();
    made.steps.ended.resize(made.steps.taken.size(), no_time);
    made.minibatches = loop.trainer().columns();
    made.minibatches.end.resize(made.minibatches.start.size(), no_time);
    made.groups = loop.buffer().columns();
    made.fate.assign(made.groups.fate.begin(), made.groups.fate.end());
    note_samples(job, loop, made);
    note_pieces(loop.pieces(), made);
    note_replicas(loop, made);
    return made;
}

}  // namespace yantra::post_training
