#include "model/model.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "workload/checks.hpp"

namespace yantra {

namespace {

bool names_ranks(const Job& job) {
    return std::any_of(job.ops.begin(), job.ops.end(), [](const Op& op) {
        return op.kind == OpKind::send || op.kind == OpKind::receive ||
               (op.kind == OpKind::collective && op.communicator != 0);
    });
}

}  // namespace

std::optional<RankProblems> check_ranks(const Model& model) {
    std::vector<bool> looks;
    for (const auto& job : model.work.distinct_jobs) {
        looks.push_back(names_ranks(*job));
    }
    const u32 ranks = model.ranks();
    for (u32 rank = 0; rank < ranks; ++rank) {
        if (!looks[model.work.job_of[rank]]) {
            continue;
        }
        const auto is_member = [&](u32 communicator) { return model.collectives.is_member(rank, communicator); };
        std::vector<Problem> problems = check_rank(model.work.job(rank), rank, ranks, is_member);
        if (!problems.empty()) {
            return RankProblems{rank, std::move(problems)};
        }
    }
    return std::nullopt;
}

}  // namespace yantra
