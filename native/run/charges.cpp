#include "run/charges.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "network/level.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

// Equal for every rank.
using Alike = std::tuple<u32, CollectiveKind, u64, bool>;   // communicator by its name, kind, bytes, over some

std::map<Alike, u64> alike_in(const Model& model, const Job& job) {
    std::map<Alike, u64> found;
    for (const Op& op : job.ops) {
        if (op.kind == OpKind::collective && op.custom == none) {
            ++found[{op.communicator, op.collective, op.bytes, involves_some(model.collectives, op.involved)}];
        }
    }
    return found;
}

KnownCollective known(const Model& model, const JobOfRank& of, const Alike& alike) {
    const auto& [name, kind, bytes, over_some] = alike;
    const u32 communicator = of.by_rules ? model.work.communicator_at(of.rank, name) : name;
    const KnownCollective nothing{none, no_program, 0};
    if (communicator == none || model.collectives.communicators[communicator].base != of.rank || bytes == 0) {
        return nothing;
    }
    const auto number = static_cast<std::size_t>(kind);
    const u32 at = model.collectives.layout_of(communicator).plan_of(number, bytes, over_some);
    if (at == none || model.collectives.plans[at].levels.size() != 1) {
        return nothing;
    }
    const u32 program = model.collectives.plans[at].levels.front().program[number];
    if (program == no_program) {
        return nothing;
    }
    const auto* timed = std::get_if<TimedProgram>(&model.collectives.programs[program].machine);
    return timed == nullptr || timed->charges.empty() ? nothing : KnownCollective{communicator, program, bytes};
}

using Ends = std::tuple<u32, u32, u32>;   // of a link: its dimension or label, from, to

Ends ends_of(const LinkRecord& link) { return {link.dimension, link.from, link.to}; }

// Links without messages come last.
std::vector<LinkRecord> joined(std::vector<LinkRecord> carried,
                               const std::vector<LinkRecord>& charged) {
    std::map<Ends, std::size_t> at;
    for (std::size_t i = 0; i < carried.size(); ++i) {
        at.emplace(ends_of(carried[i]), i);
    }
    for (const LinkRecord& link : charged) {
        const auto found = at.find(ends_of(link));
        if (found == at.end()) {
            carried.push_back(link);
            continue;
        }
        LinkUse& use = carried[found->second].use;
        use.bytes += link.use.bytes;
        use.messages += link.use.messages;
        use.busy_ticks += link.use.busy_ticks;
    }
    return carried;
}

}  // namespace

std::vector<JobOfRank> jobs_of(const Model& model) {
    std::vector<JobOfRank> jobs;
    for (u32 rank = 0; rank < model.ranks(); ++rank) {
        jobs.push_back({rank, &model.work.job(rank), true});
    }
    return jobs;
}

KnownCollective known_collective(const Model& model, const JobOfRank& of, const Op& op) {
    if (op.kind != OpKind::collective || op.custom != none) {
        return {none, no_program, 0};
    }
    return known(model, of, {op.communicator, op.collective, op.bytes, involves_some(model.collectives, op.involved)});
}

Charges::Charges(const Model& model, const Grid& grid)
    : model_(model), grid_(grid), ways_(model.network, grid), of_grid_(grid), groups_(ways_.groups()) {
    const NetworkLevel* const level = find_network_level(model.network.choice.level);
    by_link_ = model.network.fabric != nullptr || (level != nullptr && level->traits.has(NetworkTrait::has_links));
    keeps_links_ = by_link_ || (level != nullptr && level->traits.has(NetworkTrait::has_ports) &&
                                !model.semantics.quirks.links_carry_anything);
    links_.resize(keeps_links_ ? ways_.links() : 0);
}

bool Charges::are_in(const Model& model) {
    const std::vector<Program>& programs = model.collectives.programs;
    return std::any_of(programs.begin(), programs.end(), [](const Program& program) {
        const auto* timed = std::get_if<TimedProgram>(&program.machine);
        return timed != nullptr && !timed->charges.empty();
    });
}

void Charges::list_members(u32 communicator) {
    const Communicator& at = model_.collectives.communicators[communicator];
    const Shape& shape = *model_.collectives.layouts[at.layout].shape;
    members_.clear();
    for (u32 position = 0; position < shape.size(); ++position) {
        members_.push_back(at.base + shape.offset(position));
    }
    if (!shape.ascends()) {
        std::sort(members_.begin(), members_.end());
    }
}

void Charges::add(const KnownCollective& of, u64 times) {
    for_each_pair(of, [&](u32 src, u32 dst, u64 bytes, u64 messages) { send(src, dst, bytes, messages, times); });
}

const std::vector<u32>& Charges::way(u32 src, u32 dst) {
    ways_.route(ways_.place(RankId(src)), ways_.place(RankId(dst)), 0, nullptr, path_);
    path_.erase(std::remove_if(path_.begin(), path_.end(), [this](u32 link) { return !keeps(link); }), path_.end());
    return path_;
}

bool Charges::keeps(u32 link) const {
    if (by_link_ || grid_.table(of_grid_.dimension_of(link)) == nullptr) {
        return keeps_links_;
    }
    const auto [from, to] = of_grid_.ends_of(link);
    return keeps_links_ && std::min(from, to) < grid_.ranks();
}

void Charges::send(u32 src, u32 dst, u64 bytes, u64 messages, u64 times) {
    const auto count = [&](LinkUse& use) {
        use.bytes += bytes * times;
        use.messages += messages * times;
    };
    for (u32 d = 0; !by_link_ && d < grid_.dimensions(); ++d) {
        if (grid_.coordinate(src, d) != grid_.coordinate(dst, d)) {
            count(groups_[d]);
        }
    }
    if (!keeps_links_) {
        return;
    }
    for (const u32 link : way(src, dst)) {
        if (by_link_) {
            count(groups_[ways_.group(link)]);
        }
        if (links_[link].messages == 0) {
            touched_.push_back(link);
        }
        count(links_[link]);
        const TimeScale& scale = model_.semantics.scale;
        links_[link].busy_ticks += times * scale.ticks(static_cast<double>(bytes) / ways_.bytes_per_ns(link));
    }
}

std::vector<u32> Charges::take_touched() { return std::exchange(touched_, {}); }

void Charges::clear(const std::vector<u32>& touched) {
    for (const u32 link : touched) {
        links_[link] = {};
    }
    std::fill(groups_.begin(), groups_.end(), LinkUse{});
}

void add_charges(const Model& model, const Grid& grid, const std::vector<JobOfRank>& jobs, Outcome& outcome) {
    std::map<const Job*, std::map<Alike, u64>> of_jobs;
    std::map<KnownCollective, u64> collectives;
    for (const JobOfRank& of : jobs) {
        auto [found, is_new] = of_jobs.try_emplace(of.job);
        if (is_new) {
            found->second = alike_in(model, *of.job);
        }
        for (const auto& [alike, times] : found->second) {
            if (const KnownCollective one = known(model, of, alike); one.program != no_program) {
                collectives[one] += times;
            }
        }
    }
    if (collectives.empty()) {
        return;
    }
    Charges charges(model, grid);
    for (const auto& [collective, times] : collectives) {
        charges.add(collective, times);
    }
    if (outcome.dimensions.size() != charges.groups().size()) {
        return;   // a network from outside that counts in its own way
    }
    for (u32 at = 0; at < charges.groups().size(); ++at) {
        outcome.dimensions[at].bytes += charges.groups()[at].bytes;
        outcome.dimensions[at].messages += charges.groups()[at].messages;
    }
    if (outcome.busiest.size() != charges.groups().size() || charges.links().empty()) {
        return;
    }
    const std::vector<LinkRecord> charged = charges.ways().records(charges.links());
    const auto carried = outcome.links_on_demand;
    if (carried) {
        outcome.links_on_demand = [carried, charged] { return joined(carried(), charged); };
    } else {
        outcome.links = joined(std::move(outcome.links), charged);
    }
    for (const LinkRecord& link : carried ? outcome.links_on_demand() : outcome.links) {
        u64& most = outcome.busiest[link.dimension];
        most = std::max(most, link.use.busy_ticks);
    }
}

}  // namespace yantra
