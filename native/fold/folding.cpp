#include "fold/folding.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/ensure.hpp"
#include "base/hash.hpp"
#include "fold/link_classes.hpp"

namespace yantra {

namespace {

constexpr u64 most_steps = 400'000'000;  // looked-at neighbours after which the search is given up
constexpr u32 nowhere = none;

// A communicator or peer that the operations of a job name, in order of first use.
struct UsedCommunicator {
    u32 name;                 // place in the rank's table, or the communicator itself
    u32 kinds = 0;            // bit set of CollectiveKind
};

struct JobUse {
    const Job* job = nullptr;
    std::vector<UsedCommunicator> communicators;
    std::vector<u32> peers;
    std::vector<bool> sends;  // by peer
    bool has_custom = false;
    bool has_memory = false;
    u64 hash = 0;
};

bool exchanges(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::receive; }

u32 index_of(const std::vector<u32>& names, u32 name) {
    return static_cast<u32>(std::find(names.begin(), names.end(), name) - names.begin());
}

u32 index_of(const std::vector<UsedCommunicator>& used, u32 name) {
    const auto found = std::find_if(used.begin(), used.end(),
                                    [name](const UsedCommunicator& c) { return c.name == name; });
    return static_cast<u32>(found - used.begin());
}

// What an operation is once the names of its communicator and its peer are left out.
std::array<u64, 12> content(const JobUse& use, const Op& op) {
    const bool collective = op.kind == OpKind::collective;
    return {static_cast<u64>(op.kind) << 8U | static_cast<u64>(op.node_class),
            static_cast<u64>(op.resource) << 1U | u64{op.wakes},
            static_cast<u64>(op.collective),
            collective ? index_of(use.communicators, op.communicator) : 0,
            exchanges(op) ? index_of(use.peers, op.peer) : 0,
            op.tag,
            op.custom,
            op.bytes,
            op.ticks,
            op.busy_ticks,
            op.involved,
            static_cast<u64>(op.priority)};
}

JobUse use_of(const Job& job) {
    JobUse use;
    use.job = &job;
    u32 last_communicator = none;
    u32 last_peer = none;
    u32 last_at = none;
    for (const Op& op : job.ops) {
        use.has_custom |= op.custom != none;
        use.has_memory |= op.kind == OpKind::memory;
        if (op.kind == OpKind::collective) {
            u32 at = index_of(use.communicators, op.communicator);
            if (op.communicator != last_communicator && at == use.communicators.size()) {
                use.communicators.push_back({op.communicator, 0});
            }
            last_communicator = op.communicator;
            use.communicators[at].kinds |= 1u << static_cast<u32>(op.collective);
        } else if (exchanges(op)) {
            if (op.peer != last_peer) {
                last_peer = op.peer;
                last_at = index_of(use.peers, op.peer);
            }
            if (last_at == use.peers.size()) {
                use.peers.push_back(op.peer);
                use.sends.push_back(false);
            }
            use.sends[last_at] = use.sends[last_at] || op.kind == OpKind::send;
        }
    }
    for (const Op& op : job.ops) {
        for (u64 value : content(use, op)) {
            use.hash = mix(use.hash, value);
        }
    }
    return use;
}

bool equal(const JobUse& a, const JobUse& b) {
    const Graph& x = *a.job->graph;
    const Graph& y = *b.job->graph;
    if (a.hash != b.hash || a.job->ops.size() != b.job->ops.size() ||
        x.parent_count != y.parent_count || x.child_begin != y.child_begin || x.child != y.child) {
        return false;
    }
    for (std::size_t i = 0; i < a.job->ops.size(); ++i) {
        if (content(a, a.job->ops[i]) != content(b, b.job->ops[i])) {
            return false;
        }
    }
    return true;
}

// Whom the program of a level names, seen from a position.
struct Offset {
    i32 by;
    bool by_xor;
    bool operator==(const Offset&) const = default;
};

struct Neighbourhood {
    std::vector<Offset> offsets;
    bool by_position = false;   // a program that is written out per position
};

u32 neighbour(const Place& place, const Offset& offset) {
    const i64 n = place.size;
    const i64 at = offset.by_xor ? i64{place.position ^ static_cast<u32>(offset.by)}
                                 : ((i64{place.position} + offset.by) % n + n) % n;
    return place.rank_at(static_cast<u32>(at));
}

void add_flows_of(const GraphProgram& graph, const Place& place, const LinkPartition::To& to) {
    const u32 written = graph.symmetry == Symmetry::none ? place.position : 0;
    for (u32 op = graph.first_op[written]; op < graph.first_op[written + 1]; ++op) {
        if (graph.ops[op].kind == GraphOp::send) {
            to(place.rank_at(peer_position(graph, place, graph.ops[op].peer)));
        }
    }
}

class Refinement {
public:
    Refinement(const Model& model, u32 worth)
        : model_(model),
          worth_(worth),
          grid_(model.dimensions, model.tables),
          links_(grid_, [this](u32 rank, const LinkPartition::To& to) { flows(rank, to); }) {}

    Folding result();

private:
    std::string unfoldable() const;
    void read_jobs();
    bool refine();
    bool nothing_differs();
    bool looks_alike(u32 plan);
    bool refine_ranks();
    bool next_round();
    bool links_agree();
    void flows(u32 rank, const LinkPartition::To& to);
    std::vector<u32> programs_of(const Level& level, u32 kind) const;
    void add_flows(u32 rank, u32 communicator, u32 kind, const LinkPartition::To& to);
    std::string too_shared() const;
    void note_split(u32 rank, u32 other);
    void signature(u32 rank);
    void add_communicator(u32 rank, u32 used);
    void add_level(u32 rank, u32 communicator, u32 plan, u32 level);
    void add_peers(u32 rank);
    u64 uniform(u32 communicator, u32 plan, u32 level, const Place& place);
    void finish(Folding& out);
    void add_channels(Folding& out);
    void add_circles(Folding& out);

    void put(u64 value, Difference what, u32 communicator = none) {
        signature_.push_back(value);
        about_.push_back({what, communicator});
    }
    const JobUse& use(u32 rank) const { return uses_[model_.job_of[rank]]; }
    u32 communicator_at(u32 rank, u32 index) const {
        return model_.communicator_at(rank, use(rank).communicators[index].name);
    }
    u32 peer_at(u32 rank, u32 index) const { return model_.peer_at(rank, use(rank).peers[index]); }
    // The first of a rank's names for a communicator or peer; `nowhere` if it has none.
    u32 role_in(u32 rank, u32 communicator) const;
    u32 role_of(u32 rank, u32 peer) const;
    u64 shade(u32 rank, u32 communicator) const {
        return u64{color_[rank]} << 32U | role_in(rank, communicator);
    }
    u32 plan_shape(u32 plan);
    const Neighbourhood& neighbourhood(u32 plan, u32 level);
    bool same_from_everywhere(const Plan& plan, const Level& level) const;
    u64 distance(u32 from, u32 to);

    bool goes_on() const { return steps_ < most_steps && u64{colors_} * worth_ <= color_.size(); }

    const Model& model_;
    u32 worth_;
    Grid grid_;
    LinkPartition links_;
    std::vector<JobUse> uses_;
    std::vector<u32> color_;
    u32 colors_ = 0;
    u32 round_ = 0;
    u64 steps_ = 0;
    std::vector<u64> signature_;
    std::vector<std::pair<Difference, u32>> about_;
    std::unordered_map<u64, u64> uniform_;                     // of the round
    std::map<std::vector<u64>, u32> shapes_;
    std::unordered_map<u32, u32> shape_of_plan_;
    std::map<std::pair<u32, u32>, Neighbourhood> neighbourhoods_;
    std::map<std::vector<u64>, u64> distances_;
    std::vector<Split> splits_;
};

// Differences that no partition of the ranks can settle.
std::string Refinement::unfoldable() const {
    const SystemParameters& system = model_.system;
    if (system.inter_dimension == InterDimension::themis ||
        system.inter_dimension == InterDimension::themis_flex) {
        return "Themis balances the load of all ranks in one table";
    }
    if (system.bus.enabled) {
        return "the shared bus serves what comes first, which can depend on the numbers of ranks";
    }
    if (system.rendezvous) {
        return "the rendezvous protocol is not folded";
    }
    if (model_.match_by_tag) {
        return "groups have numbers so high that ASTRA-sim's tags of two of them may be equal";
    }
    const bool shared = model_.memory.kind == RemoteMemoryKind::per_node ||
                        model_.memory.kind == RemoteMemoryKind::pool;
    for (const JobUse& use : uses_) {
        if (use.has_memory && shared) {
            return "remote memory that ranks share serves what comes first, which can depend on their "
                   "numbers";
        }
        if (use.has_custom) {
            return "collectives given by traces are not folded";
        }
    }
    for (const Plan& plan : model_.plans) {
        if (plan.custom != none) {
            return "collectives given by traces are not folded";
        }
    }
    return "";
}

// Jobs of equal content, up to the names of communicators and peers, count as one.
void Refinement::read_jobs() {
    for (const auto& job : model_.distinct_jobs) {
        uses_.push_back(use_of(*job));
    }
    std::vector<u32> kind(uses_.size());
    std::unordered_multimap<u64, u32> by_hash;
    for (u32 i = 0; i < uses_.size(); ++i) {
        kind[i] = nowhere;
        const auto [first, last] = by_hash.equal_range(uses_[i].hash);
        for (auto it = first; it != last && kind[i] == nowhere; ++it) {
            kind[i] = equal(uses_[it->second], uses_[i]) ? kind[it->second] : nowhere;
        }
        if (kind[i] == nowhere) {
            kind[i] = i;
            by_hash.emplace(uses_[i].hash, i);
        }
    }
    std::vector<u32> number(uses_.size(), nowhere);
    std::vector<u32> first;
    color_.resize(model_.job_of.size());
    for (u32 rank = 0; rank < color_.size(); ++rank) {
        u32& at = number[kind[model_.job_of[rank]]];
        if (at == nowhere) {
            at = colors_++;
            first.push_back(rank);
        }
        color_[rank] = at;
    }
    for (u32 i = 1; i < first.size(); ++i) {
        splits_.push_back({first[i], first[0], Difference::graph, none, colors_});
    }
}

u32 Refinement::role_in(u32 rank, u32 communicator) const {
    for (u32 i = 0; i < use(rank).communicators.size(); ++i) {
        if (communicator_at(rank, i) == communicator) {
            return i;
        }
    }
    return nowhere;
}

u32 Refinement::role_of(u32 rank, u32 peer) const {
    for (u32 i = 0; i < use(rank).peers.size(); ++i) {
        if (peer_at(rank, i) == peer) {
            return i;
        }
    }
    return nowhere;
}

// A number for all in which two plans can differ besides their members.
u32 Refinement::plan_shape(u32 plan_index) {
    const auto known = shape_of_plan_.find(plan_index);
    if (known != shape_of_plan_.end()) {
        return known->second;
    }
    const Plan& plan = model_.plans[plan_index];
    std::vector<u64> shape{plan.communicator_size, plan.masked, plan.shared_load,
                           !plan.over_members};
    for (const Level& level : plan.levels) {
        shape.insert(shape.end(), {level.size, level.stride, level.index_stride, level.dimension,
                                   level.fixed_hand_over, level.turn});
        shape.insert(shape.end(), level.program.begin(), level.program.end());
        shape.insert(shape.end(), level.alternate.begin(), level.alternate.end());
    }
    const u32 number = shapes_.try_emplace(std::move(shape), shapes_.size()).first->second;
    shape_of_plan_.emplace(plan_index, number);
    return number;
}

const Neighbourhood& Refinement::neighbourhood(u32 plan, u32 level_index) {
    const auto [entry, fresh] = neighbourhoods_.try_emplace({plan_shape(plan), level_index});
    Neighbourhood& near = entry->second;
    if (!fresh) {
        return near;
    }
    const Level& level = model_.plans[plan].levels[level_index];
    std::vector<u32> programs(level.program.begin(), level.program.end());
    programs.insert(programs.end(), level.alternate.begin(), level.alternate.end());
    for (u32 number : programs) {
        if (number == no_program) {
            continue;
        }
        const auto* machine = std::get_if<ExchangeProgram>(&model_.programs[number].machine);
        if (machine == nullptr) {
            near.by_position = true;
            continue;
        }
        for (const Run& run : machine->runs) {
            for (i32 by : {run.out, run.into, -run.out, -run.into}) {
                near.offsets.push_back({run.by_xor ? std::abs(by) : by, run.by_xor});
            }
        }
    }
    auto order = [](const Offset& a, const Offset& b) {
        return std::pair{a.by_xor, a.by} < std::pair{b.by_xor, b.by};
    };
    std::sort(near.offsets.begin(), near.offsets.end(), order);
    near.offsets.erase(std::unique(near.offsets.begin(), near.offsets.end()), near.offsets.end());
    return near;
}

// Whether all positions of a level lie alike in the network: it is one whole block of a kind that
// looks the same from each of its members.
bool Refinement::same_from_everywhere(const Plan& plan, const Level& level) const {
    const Dimension& dimension = grid_.dimension(level.dimension);
    return !plan.over_members && dimension.block != Block::table &&
           level.size == dimension.size && level.stride == grid_.stride(level.dimension);
}

// A number for what the network adds to a message between two ranks, its size apart.
u64 Refinement::distance(u32 from, u32 to) {
    std::vector<u64> crossed;
    for (u32 d = grid_.lowest_difference(from, to); d < grid_.dimensions(); ++d) {
        const u32 a = grid_.coordinate(from, d);
        const u32 b = grid_.coordinate(to, d);
        if (a != b) {
            crossed.insert(crossed.end(), {d, grid_.hops(d, a, b)});
        }
        if (model_.network == NetworkKind::analytical && model_.quirks.lowest_dimension_only &&
            !crossed.empty()) {
            break;
        }
    }
    return distances_.try_emplace(std::move(crossed), distances_.size()).first->second;
}

// The common shade of the members of a level, or none in the upper half.
u64 Refinement::uniform(u32 communicator, u32 plan, u32 level, const Place& place) {
    const u64 ranks = grid_.ranks();
    const u64 key = ((u64{communicator} * model_.plans.size() + plan) * 64 + level) * ranks + place.base;
    const auto known = uniform_.find(key);
    if (known != uniform_.end()) {
        return known->second;
    }
    const u64 first = shade(place.rank_at(0), communicator);
    u64 common = first;
    steps_ += place.size;
    for (u32 at = 1; at < place.size && common == first; ++at) {
        if (shade(place.rank_at(at), communicator) != first) {
            common = ~u64{0};
        }
    }
    uniform_.emplace(key, common);
    return common;
}

void Refinement::add_level(u32 rank, u32 communicator, u32 plan_index, u32 level_index) {
    const Plan& plan = model_.plans[plan_index];
    const Level& level = plan.levels[level_index];
    const Neighbourhood& near = neighbourhood(plan_index, level_index);
    const Place place = place_on(model_, plan, level_index, communicator, rank);
    if (near.by_position) {
        put(u64{communicator} << 32U | rank, Difference::position, communicator);
        return;
    }
    const u64 common = uniform(communicator, plan_index, level_index, place);
    const bool far = round_ == 0 && !same_from_everywhere(plan, level);
    if (common != ~u64{0} && !far) {
        put(common, Difference::neighbours, communicator);
        return;
    }
    steps_ += near.offsets.size();
    for (const Offset& offset : near.offsets) {
        const u32 other = neighbour(place, offset);
        put(shade(other, communicator), Difference::neighbours, communicator);
        if (far && other != rank) {
            put(distance(rank, other), Difference::distance, communicator);
        }
    }
}

void Refinement::add_communicator(u32 rank, u32 used) {
    const u32 communicator = communicator_at(rank, used);
    const u32 kinds = use(rank).communicators[used].kinds;
    put(model_.lanes[communicator], Difference::plan, communicator);
    for (u32 kind = 0; kind < collective_kinds; ++kind) {
        if ((kinds >> kind & 1) == 0) {
            continue;
        }
        const u32 plan = model_.form_of(communicator).plan[kind];
        put(plan_shape(plan), Difference::plan, communicator);
        for (u32 level = 0; level < model_.plans[plan].levels.size(); ++level) {
            if (model_.plans[plan].levels[level].size > 1) {
                add_level(rank, communicator, plan, level);
            }
        }
    }
}

void Refinement::add_peers(u32 rank) {
    const u32 count = static_cast<u32>(use(rank).peers.size());
    for (u32 i = 0; i < count; ++i) {
        const u32 peer = peer_at(rank, i);
        put(role_of(rank, peer), Difference::peers);
        put(u64{color_[peer]} << 32U | role_of(peer, rank), Difference::exchange);
        if (round_ == 0) {
            put(distance(rank, peer), Difference::distance);
        }
    }
}

// All that the members of a class must have in common, as numbers.
void Refinement::signature(u32 rank) {
    signature_.clear();
    about_.clear();
    put(color_[rank], Difference::graph);
    for (u32 used = 0; used < use(rank).communicators.size(); ++used) {
        add_communicator(rank, used);
    }
    add_peers(rank);
}

void Refinement::note_split(u32 rank, u32 other) {
    signature(other);
    const std::vector<u64> theirs = signature_;
    signature(rank);
    std::size_t at = 0;
    while (at + 1 < std::min(theirs.size(), signature_.size()) && theirs[at] == signature_[at]) {
        ++at;
    }
    splits_.push_back({rank, other, about_[at].first, about_[at].second, 0});
}

// Splits every class by the signatures of its members; true if none was split.
bool Refinement::next_round() {
    struct Class {
        std::vector<u64> signature;
        u32 first;
    };
    uniform_.clear();
    std::vector<Class> classes;
    std::unordered_multimap<u64, u32> by_hash;
    std::vector<u32> first_of(colors_, nowhere);   // by old class: its first rank
    std::vector<u32> next(color_.size());
    const std::size_t noted = splits_.size();
    for (u32 rank = 0; rank < color_.size() && steps_ < most_steps; ++rank) {
        signature(rank);
        u64 hash = 0;
        for (u64 value : signature_) {
            hash = mix(hash, value);
        }
        u32 found = nowhere;
        const auto [first, last] = by_hash.equal_range(hash);
        for (auto it = first; it != last && found == nowhere; ++it) {
            found = classes[it->second].signature == signature_ ? it->second : nowhere;
        }
        if (found == nowhere) {
            found = static_cast<u32>(classes.size());
            by_hash.emplace(hash, found);
            classes.push_back({signature_, rank});
            u32& leader = first_of[color_[rank]];
            if (leader == nowhere) {
                leader = rank;
            } else if (splits_.size() < 1000) {
                note_split(rank, leader);
            }
        }
        next[rank] = found;
    }
    const bool stable = classes.size() == colors_;
    color_ = std::move(next);
    colors_ = static_cast<u32>(classes.size());
    for (std::size_t i = noted; i < splits_.size(); ++i) {
        splits_[i].classes = colors_;
    }
    return stable;
}

// False if so many classes are left that folding is of no use, or the search takes too long.
bool Refinement::refine() {
    bool settled = refine_ranks();
    while (settled && model_.network == NetworkKind::store_and_forward && !links_agree()) {
        settled = refine_ranks();
    }
    return settled;
}

// Whether a round could tell no two ranks apart: all run one job that names no rank and no group, on
// levels that lie alike everywhere. So it is with single collectives, and needs no look at every rank.
bool Refinement::nothing_differs() {
    if (colors_ != 1 || uses_.size() != 1 || !uses_[0].peers.empty() || model_.rules[0] != nullptr) {
        return false;
    }
    for (const UsedCommunicator& used : uses_[0].communicators) {
        if (used.name != 0) {   // not all ranks
            return false;
        }
        for (u32 kind = 0; kind < collective_kinds; ++kind) {
            if ((used.kinds >> kind & 1) == 0) {
                continue;
            }
            const u32 plan = model_.form_of(used.name).plan[kind];
            if (!looks_alike(plan)) {
                return false;
            }
        }
    }
    return true;
}

// Whether the levels of a plan over all ranks are the same from each of them.
bool Refinement::looks_alike(u32 plan_index) {
    const Plan& plan = model_.plans[plan_index];
    for (u32 at = 0; at < plan.levels.size(); ++at) {
        const Level& level = plan.levels[at];
        if (level.size > 1 &&
            (neighbourhood(plan_index, at).by_position || !same_from_everywhere(plan, level))) {
            return false;
        }
    }
    return true;
}

bool Refinement::refine_ranks() {
    if (nothing_differs()) {
        return goes_on();
    }
    while (goes_on()) {
        const bool stable = next_round();
        steps_ += color_.size();
        if (stable) {
            return goes_on();
        }
        ++round_;
    }
    return false;
}

// Cuts the links into classes and every class of ranks by the classes of links that its messages
// cross; true if none was cut.
bool Refinement::links_agree() {
    if (!links_.cut(color_, colors_)) {
        steps_ = most_steps;
        return true;
    }
    std::map<std::pair<u32, std::vector<u32>>, u32> classes;
    std::vector<u32> first_of(colors_, nowhere);
    std::vector<u32> next(color_.size());
    const std::size_t noted = splits_.size();
    for (u32 rank = 0; rank < color_.size(); ++rank) {
        const auto [entry, fresh] =
            classes.try_emplace({color_[rank], links_.way_of(rank)}, classes.size());
        u32& leader = first_of[color_[rank]];
        if (leader == nowhere) {
            leader = rank;
        } else if (fresh && splits_.size() < 1000) {
            splits_.push_back({rank, leader, Difference::links, none, 0});
        }
        next[rank] = entry->second;
    }
    const bool agree = classes.size() == colors_;
    color_ = std::move(next);
    colors_ = static_cast<u32>(classes.size());
    for (std::size_t i = noted; i < splits_.size(); ++i) {
        splits_[i].classes = colors_;
    }
    return agree;
}

// The destinations of all that a rank may send, by role.
void Refinement::flows(u32 rank, const LinkPartition::To& to) {
    for (u32 used = 0; used < use(rank).communicators.size(); ++used) {
        for (u32 kind = 0; kind < collective_kinds; ++kind) {
            if ((use(rank).communicators[used].kinds >> kind & 1) != 0) {
                add_flows(rank, communicator_at(rank, used), kind, to);
            }
        }
    }
    for (u32 i = 0; i < use(rank).peers.size(); ++i) {
        if (use(rank).sends[i]) {
            to(peer_at(rank, i));
        }
    }
}

// The programs that a level runs for a kind: an all-reduce may be a reduce-scatter and an all-gather.
std::vector<u32> Refinement::programs_of(const Level& level, u32 kind) const {
    std::vector<u32> kinds{kind};
    if (kind == static_cast<u32>(CollectiveKind::all_reduce) && model_.system.local_bw_aware) {
        kinds.push_back(static_cast<u32>(CollectiveKind::reduce_scatter));
        kinds.push_back(static_cast<u32>(CollectiveKind::all_gather));
    }
    std::vector<u32> programs;
    for (u32 each : kinds) {
        for (u32 number : {level.program[each], level.turn == none ? no_program : level.alternate[each]}) {
            if (number != no_program) {
                programs.push_back(number);
            }
        }
    }
    std::sort(programs.begin(), programs.end());
    programs.erase(std::unique(programs.begin(), programs.end()), programs.end());
    return programs;
}

void Refinement::add_flows(u32 rank, u32 communicator, u32 kind, const LinkPartition::To& to) {
    const u32 plan_index = model_.form_of(communicator).plan[kind];
    const Plan& plan = model_.plans[plan_index];
    for (u32 at = 0; at < plan.levels.size(); ++at) {
        if (plan.levels[at].size <= 1) {
            continue;
        }
        const Place place = place_on(model_, plan, at, communicator, rank);
        for (u32 number : programs_of(plan.levels[at], kind)) {
            const Program& program = model_.programs[number];
            if (const auto* graph = std::get_if<GraphProgram>(&program.machine)) {
                add_flows_of(*graph, place, to);
                continue;
            }
            for (const Run& run : std::get_if<ExchangeProgram>(&program.machine)->runs) {
                to(neighbour(place, {run.out, run.by_xor}));
                if (!run.by_xor) {
                    to(neighbour(place, {-run.out, false}));  // the other way round
                }
            }
        }
    }
}

// Why links that ranks of one class share the same way keep a run from being folded, if there are.
std::string Refinement::too_shared() const {
    const LinkPartition::Shared shared = links_.shared();
    if (shared.link == none) {
        return "";
    }
    return "the ranks " + std::to_string(shared.rank) + " and " + std::to_string(shared.other) +
           " do the same, and their messages share the link " + links_.routes().name(shared.link) +
           "; which of them is first follows the numbers of ranks";
}

void Refinement::add_channels(Folding& out) {
    std::map<std::array<u32, 4>, u32> ids;
    auto id = [&ids](u32 from, u32 role, u32 to, u32 role_back) {
        return ids.try_emplace({from, role, to, role_back}, ids.size()).first->second;
    };
    for (u32 at = 0; at < colors_; ++at) {
        const u32 rank = out.representative[at];
        std::vector<Folding::Channel> channels;
        for (u32 i = 0; i < use(rank).peers.size(); ++i) {
            const u32 peer = peer_at(rank, i);
            const u32 there = role_of(rank, peer);
            const u32 back = role_of(peer, rank);
            channels.push_back({peer, id(at, there, color_[peer], back),
                                id(color_[peer], back, at, there)});
        }
        out.channels.push_back(std::move(channels));
    }
}

// Communicators are alike where they hold the same classes in the same roles.
void Refinement::add_circles(Folding& out) {
    std::vector<u32> first(colors_ + 1);
    for (u32 at = 0; at < colors_; ++at) {
        first[at + 1] = first[at] + static_cast<u32>(use(out.representative[at]).communicators.size());
    }
    std::vector<u32> parent(first.back());
    std::iota(parent.begin(), parent.end(), 0);
    auto root = [&parent](u32 x) {
        while (parent[x] != x) {
            x = parent[x] = parent[parent[x]];
        }
        return x;
    };
    std::unordered_map<u32, u32> seen;   // by communicator: a (class, role) in it
    for (u32 rank = 0; rank < color_.size(); ++rank) {
        for (u32 i = 0; i < use(rank).communicators.size(); ++i) {
            const u32 here = first[color_[rank]] + i;
            const auto [entry, fresh] = seen.try_emplace(communicator_at(rank, i), here);
            parent[root(here)] = root(entry->second);
        }
    }
    std::map<u32, u32> circle;
    for (u32 at = 0; at < colors_; ++at) {
        std::vector<Folding::Membership> memberships;
        for (u32 i = 0; first[at] + i < first[at + 1]; ++i) {
            const auto [entry, fresh] = circle.try_emplace(root(first[at] + i), circle.size());
            if (fresh) {
                out.communicator_classes.emplace_back();
            }
            out.communicator_classes[entry->second].push_back(at);
            memberships.push_back({communicator_at(out.representative[at], i), entry->second});
        }
        out.memberships.push_back(std::move(memberships));
    }
    for (const std::vector<u32>& classes : out.communicator_classes) {
        if (std::adjacent_find(classes.begin(), classes.end()) != classes.end()) {
            out.refusal = "a class of ranks holds two roles in communicators alike";
        }
    }
}

void Refinement::finish(Folding& out) {
    out.class_of = color_;
    out.representative.assign(colors_, nowhere);
    out.count.assign(colors_, 0);
    for (u32 rank = 0; rank < color_.size(); ++rank) {
        u32& lowest = out.representative[color_[rank]];
        lowest = std::min(lowest, rank);
        ++out.count[color_[rank]];
    }
    add_channels(out);
    add_circles(out);
    if (model_.network == NetworkKind::store_and_forward) {
        out.refusal = out.refusal.empty() ? too_shared() : out.refusal;
        out.links = std::move(links_.classes());
    }
}

Folding Refinement::result() {
    Folding out;
    read_jobs();
    out.refusal = unfoldable();
    if (out.refusal.empty()) {
        if (refine()) {
            finish(out);
        } else {
            out.refusal = steps_ < most_steps
                              ? "there are fewer than " + std::to_string(worth_) + " ranks to a class"
                              : "telling the classes of ranks apart would take too long";
        }
    }
    out.splits = std::move(splits_);
    return out;
}

}  // namespace

Folding fold(const Model& model, u32 worth) { return Refinement(model, worth).result(); }

}  // namespace yantra
