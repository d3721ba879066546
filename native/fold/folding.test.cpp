// Ranks are of one class exactly if nothing that a class represents distinguishes them. The oracle
// compares all signatures of all ranks in every round.
// needs: the parts of a run
#include "fold/folding.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/table.hpp"
#include "fold/test.hpp"

#include "fold/capabilities.cpp"
#include "fold/destinations.cpp"
#include "fold/flow_partition.cpp"
#include "fold/folding.cpp"
#include "fold/link_classes.cpp"
#include "fold/neighbourhoods.cpp"
#include "fold/port_classes.cpp"
#include "fold/rank_names.cpp"
#include "fold/refinement.cpp"
#include "fold/representatives.cpp"
#include "fold/signatures.cpp"

namespace {

using namespace yantra;
using test::check;
using test::ranks;

template <class T>
u32 number_of(std::map<T, u32>& numbers, const T& value) {
    return numbers.try_emplace(value, static_cast<u32>(numbers.size())).first->second;
}

struct Slow {
    explicit Slow(const Model& of) : model(of) {}

    // The coarsest classes whose members agree.
    std::vector<u32> classes() {
        const std::vector<u32> first_equal = names.first_equal_job();
        std::map<u32, u32> of_job;
        std::vector<u32> class_of;
        for (u32 rank = 0; rank < ranks; ++rank) {
            class_of.push_back(number_of(of_job, first_equal[model.work.job_of[rank]]));
        }
        for (u32 count = 0, next = static_cast<u32>(of_job.size()); next != count;) {
            count = next;
            std::map<std::vector<u64>, u32> found;
            class_of = divided(class_of, count, found);
            next = static_cast<u32>(found.size());
        }
        return class_of;
    }
    std::vector<u32> divided(const std::vector<u32>& class_of, u32 count,
                             std::map<std::vector<u64>, u32>& found) {
        RankClasses classes(class_of, count);
        Signatures signatures(model, names, classes, grid, neighbourhoods, budget);
        signatures.start_round(true);
        std::vector<u32> next;
        for (u32 rank = 0; rank < ranks; ++rank) {
            next.push_back(number_of(found, signatures.of(rank)));
        }
        return next;
    }

    const Model& model;
    FoldingCapabilities capabilities = capabilities_of(model);
    RankNames names{model};
    Grid grid{model.network.dimensions, model.network.tables};
    Neighbourhoods neighbourhoods{model, grid, capabilities};
    SearchBudget budget;
};

void representatives_are_the_lowest(const Folding& folding) {
    std::vector<u32> lowest(folding.representative.size(), none);
    std::vector<u64> count(folding.representative.size());
    for (u32 rank = ranks; rank-- > 0;) {
        lowest[folding.class_of[rank]] = rank;
        ++count[folding.class_of[rank]];
    }
    check(folding.representative == lowest, "a representative is not the lowest rank", 0);
    check(folding.count == count, "a class has other ranks", 0);
}

void messages_meet(const Folding& folding, const RankNames& names) {
    std::map<u32, std::vector<u32>> sent;   // by number: classes and indices of both sides
    for (u32 rank = 0; rank < ranks; ++rank) {
        const u32 of_class = folding.class_of[rank];
        const auto& channels = folding.channels[of_class];
        check(channels.size() == names.of(rank).peers.size(), "a peer without a channel", rank);
        for (u32 index = 0; index < channels.size(); ++index) {
            const u32 peer = names.peer(rank, index);
            const u32 own = names.peer_index(rank, peer);
            const u32 back = names.peer_index(peer, rank);
            const std::vector<u32> ends{of_class, own, folding.class_of[peer], back};
            const auto [entry, fresh] = sent.try_emplace(channels[index].out, ends);
            check(entry->second == ends, "two messages have one number", rank);
            if (rank == folding.representative[of_class]) {
                check(channels[index].peer == peer, "a channel to another peer", rank);
            }
            if (back != none) {
                const auto& there = folding.channels[folding.class_of[peer]][back];
                check(there.in == channels[index].out && there.out == channels[index].in,
                      "a message does not come where it is awaited", rank);
            }
        }
    }
}

void groups_meet(const Folding& folding, const RankNames& names) {
    std::map<u32, std::set<u32>> classes_in;   // by communicator class
    std::map<u32, u32> class_of_group;         // by communicator
    for (u32 rank = 0; rank < ranks; ++rank) {
        const u32 of_class = folding.class_of[rank];
        const auto& memberships = folding.memberships[of_class];
        check(memberships.size() == names.of(rank).communicators.size(), "a group is missing", rank);
        for (u32 index = 0; index < memberships.size(); ++index) {
            const u32 group = names.communicator(rank, index);
            const u32 found = memberships[index].communicator_class;
            check(class_of_group.try_emplace(group, found).first->second == found,
                  "members of a group are in different classes of groups", rank);
            classes_in[found].insert(of_class);
            if (rank == folding.representative[of_class]) {
                check(memberships[index].communicator == group, "another group", rank);
            }
        }
    }
    check(folding.communicator_classes.size() == classes_in.size(), "classes of groups", classes_in.size());
    for (const auto& [number, classes] : classes_in) {
        check(folding.communicator_classes[number] ==
                  std::vector<u32>(classes.begin(), classes.end()),
              "other classes meet in a group", number);
    }
}

void links_are_crossed_alike(const Folding& folding, const Destinations& destinations, const Grid& grid) {
    const Links routes(grid);
    std::map<u32, std::vector<u32>> on_routes;                    // by class of ranks
    std::map<u32, std::multiset<std::pair<u32, u32>>> crossed;    // by link: class of ranks, number of the hop
    for (u32 rank = 0; rank < ranks; ++rank) {
        std::vector<u32> classes;
        destinations.for_each(rank, [&](u32 dst) {
            classes.push_back(none);
            for (Links::Stop stop{rank, none}; !stop.is(dst);) {
                const u32 link = routes.next(stop, dst);
                crossed[link].insert({folding.class_of[rank], static_cast<u32>(classes.size())});
                classes.push_back(folding.links.class_of[link]);
            }
        });
        check(on_routes.try_emplace(folding.class_of[rank], classes).first->second == classes,
              "ranks of a class cross links of other classes", rank);
    }
    std::vector<u64> count(folding.links.count.size());
    std::map<u32, u32> one_of;
    for (const auto& [link, by] : crossed) {
        const u32 of_class = folding.links.class_of[link];
        check(std::set(by.begin(), by.end()).size() == by.size(), "ranks of a class share a link", link);
        const auto [entry, fresh] = one_of.try_emplace(of_class, link);
        check(crossed[entry->second] == by, "links of a class are crossed by others", link);
        check(folding.links.dimension[of_class] == routes.dimension_of(link), "a link elsewhere", link);
        ++count[of_class];
    }
    check(count == folding.links.count, "a class has other links", 0);
    for (u32 link = 0; link < folding.links.class_of.size(); ++link) {
        check((folding.links.class_of[link] == none) == !crossed.contains(link), "a link of no class", link);
    }
}

struct Seen {
    u64 folded = 0, divided = 0, links = 0, whole = 0;
};

void classes_are_the_coarsest(u32 seed, Seen& seen) {
    test::Random random(seed);
    Model model = test::any_model(random, 1 + random.below(3));
    const bool by_links = random.one_in(2);
    model.network.choice.level = by_links ? "store_and_forward" : "analytical";
    Slow slow(model);
    const std::vector<u32> expected = slow.classes();
    const u32 count = 1 + *std::max_element(expected.begin(), expected.end());
    const u32 least = 1 + static_cast<u32>(random.below(3));
    const Folding folding = fold(model, least);
    const std::string too_few = "there are fewer than " + std::to_string(least) + " ranks to a class";
    const bool fits = count * least <= ranks;
    if (!fits || folding.refusal == too_few) {
        check(folding.refusal == too_few && (by_links || !fits), "too many classes are taken", seed);
        ++seen.whole;
        return;
    }
    if (!folding.folds()) {
        const bool roles = folding.refusal == "a class of ranks holds two roles in communicators alike";
        check(roles || (by_links && folding.refusal.find("share the link") != std::string::npos),
              folding.refusal.c_str(), seed);
    }
    const u32 found = static_cast<u32>(folding.representative.size());
    check(by_links ? found >= count : folding.class_of == expected, "other classes", seed);
    std::map<std::vector<u64>, u32> signatures;
    slow.divided(folding.class_of, found, signatures);
    check(signatures.size() == found, "members of a class do not agree", seed);
    representatives_are_the_lowest(folding);
    messages_meet(folding, slow.names);
    groups_meet(folding, slow.names);
    if (by_links && folding.folds()) {
        links_are_crossed_alike(folding, Destinations(model, slow.names), slow.grid);
        ++seen.links;
    }
    ++seen.folded;
    seen.divided += found > 1;
    std::set<u32> told;
    for (const Split& split : folding.splits) {
        check(folding.class_of[split.rank] != folding.class_of[split.other], "a split of one class", seed);
        check(split.classes > 1 && split.classes <= found, "after so many classes", split.classes);
        told.insert(folding.class_of[split.rank]);
    }
    check(told.size() + 1 == found, "a class without a reason", seed);
}

void jobs_alike_in_different_groups_are_told_apart() {
    const auto in_group = [](u32 group) {
        Op op = test::collective(CollectiveKind::all_reduce, 1);
        op.communicator = group;
        return test::job_of({{op, {}}});
    };
    test::Random random(1);
    Model model = test::any_model(random, 1);
    model.work.distinct_jobs.assign(ranks, in_group(test::halves));
    model.work.distinct_jobs[0] = in_group(test::plain);
    const Folding folding = fold(model, 1);
    check(folding.class_of == Slow(model).classes(), "groups of jobs alike", 0);
    check(folding.class_of[0] != folding.class_of[1], "the first is in another group", 0);
}

void a_group_of_a_template_is_told_apart_by_what_it_is() {
    test::Random random(1);
    Model model = test::any_model(random, 1);
    Op op = test::collective(CollectiveKind::all_reduce, 1);
    op.communicator = 1;
    model.work.distinct_jobs = {test::job_of({{op, {}}})};
    model.work.job_of.assign(ranks, 0);
    model.collectives.layouts[1] = model.collectives.layouts[test::plain];
    const AxisSum::Axis halves{.stride = ranks / 2, .size = 2, .factor = 0, .values = {1, test::by_position}};
    RankRules rules;
    rules.communicators.assign(2, AxisSum(0, 0, false, {halves}));
    model.work.rules = {std::make_shared<RankRules>(rules)};
    const Folding folding = fold(model, 1);
    check(folding.class_of == Slow(model).classes(), "a group of a template", 0);
    check(folding.class_of.front() != folding.class_of.back(), "halves in different groups", 0);
}

Model plain_model(const Op& op) {
    std::vector<std::shared_ptr<const Job>> jobs{test::job_of({{op, {}}})};
    Model model = test::model_of({{Block::ring, 4, 1.0, 1.0, 1.0}, {Block::ring, 2, 1.0, 1.0, 1.0}}, jobs);
    model.semantics.quirks.links_carry_anything = true;
    model.work.job_of.assign(8, 0);
    return model;
}

void ranks_alike_that_share_the_first_link_are_not_folded() {
    constexpr u32 left = 4, right = 5;   // switches
    const std::vector<u32> from{left, right, 0, 1, 2, 3, left, left, right, right};
    const std::vector<u32> to{right, left, left, left, right, right, 0, 1, 2, 3};
    std::vector<u32> next;
    for (u32 device = 0; device < 6; ++device) {
        for (u32 there = 0; there < 4; ++there) {
            const bool arrives = (device == left) == (there < 2);
            next.push_back(device == there ? none : device < 4 ? 2 + device : arrives ? 6 + there : device - left);
        }
    }
    std::vector<std::shared_ptr<const Job>> jobs;
    for (u32 rank = 0; rank < 4; ++rank) {
        jobs.push_back(test::job_of({{test::message(rank < 2, rank ^ 2, 100), {}}}));
    }
    Model model = test::model_of({{Block::table, 4, 1.0, 1.0, 1.0}}, jobs);
    model.semantics.quirks.links_carry_anything = true;
    model.network.tables[0] = std::make_shared<BlockTable>(4, 6, from, to, next);
    check(fold(model, 2).folds(), "senders and receivers are two classes", 0);
    model.network.choice.level = "store_and_forward";
    const std::string why = fold(model, 2).refusal;
    check(why.find("ranks 0 and 1 do the same") != std::string::npos &&
              why.find("share the link from switch 4 to switch 5") != std::string::npos, why.c_str(), 0);
}

void what_is_not_folded_says_why() {
    Op access = test::timed(0, 1);
    access.kind = OpKind::memory;
    const Op plain = test::collective(CollectiveKind::all_reduce, 1);
    for (const bool accesses : {false, true}) {
        for (const RemoteMemoryKind kind : {RemoteMemoryKind::per_rank, RemoteMemoryKind::pool}) {
            Model model = plain_model(accesses ? access : plain);
            model.memory.kind = kind;
            const Folding folding = fold(model);
            const bool shared = accesses && kind == RemoteMemoryKind::pool;
            check(folding.folds() == !shared, "memory that ranks share is not folded, other is", accesses);
            check(!shared || folding.refusal == capabilities_of(model).why_not.memory, "why memory", 0);
            check(shared || (folding.count == std::vector<u64>{8} && folding.splits.empty()), "one class", 0);
        }
    }
    const std::string custom = capabilities_of(plain_model(plain)).why_not.custom_collectives;
    Op given = plain;
    given.custom = 0;
    check(fold(plain_model(given)).refusal == custom, "a collective given by traces is folded", 0);
    Model model = plain_model(given);
    model.work.distinct_jobs = {test::job_of({{access, {}}, {given, {}}})};
    check(fold(model).refusal == custom, "a collective given by traces, and memory", 0);
    model = plain_model(plain);
    model.collectives.plans[0].custom = 0;
    check(fold(model).refusal == custom, "a plan given by traces is folded", 0);
    model = plain_model(plain);
    model.collectives.system.rendezvous = true;
    check(fold(model).refusal == capabilities_of(model).refusal(), "rendezvous is folded", 0);
    check(fold(plain_model(plain), 8).folds(), "eight ranks to a class", 0);
    check(fold(plain_model(plain), 9).refusal == "there are fewer than 9 ranks to a class", "of nine", 0);
}

}  // namespace

int main() {
    what_is_not_folded_says_why();
    jobs_alike_in_different_groups_are_told_apart();
    a_group_of_a_template_is_told_apart_by_what_it_is();
    ranks_alike_that_share_the_first_link_are_not_folded();
    Seen seen;
    for (u32 seed = 0; seed < 2000; ++seed) {
        classes_are_the_coarsest(seed, seen);
    }
    check(seen.folded > 200 && seen.divided > 100 && seen.links > 50 && seen.whole > 50,
          "too few models of a kind", seen.links);
}
