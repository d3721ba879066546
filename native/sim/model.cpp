#include "sim/model.hpp"

#include <algorithm>
#include <unordered_map>

namespace yantra {

namespace {

// Whether it makes a difference to a job which rank runs it.
bool names_ranks(const Job& job, const std::vector<std::vector<u32>>& members) {
    return std::any_of(job.ops.begin(), job.ops.end(), [&](const Op& op) {
        return op.kind == OpKind::send || op.kind == OpKind::receive ||
               (op.kind == OpKind::collective && !members[op.communicator].empty());
    });
}

}  // namespace

std::pair<u32, std::vector<Problem>> check_ranks(const Model& model) {
    std::vector<std::vector<u32>> members;
    for (const Communicator& communicator : model.communicators) {
        members.push_back(communicator.members);
        std::sort(members.back().begin(), members.back().end());
    }
    std::unordered_map<const Job*, bool> looked_at;
    const Job* last = nullptr;
    bool looks = false;
    const u32 ranks = static_cast<u32>(model.jobs.size());
    for (u32 rank = 0; rank < ranks; ++rank) {
        const Job* const job = model.jobs[rank].get();
        if (job != last) {
            last = job;
            const auto [entry, fresh] = looked_at.try_emplace(job);
            if (fresh) {
                entry->second = names_ranks(*job, members);
            }
            looks = entry->second;
        }
        std::vector<Problem> problems =
            looks ? check_rank(*job, rank, ranks, members) : std::vector<Problem>{};
        if (!problems.empty()) {
            return {rank, std::move(problems)};
        }
    }
    return {none, {}};
}

}  // namespace yantra
