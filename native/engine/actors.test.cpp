// Of each class one rank runs, and represents them all.
#include "engine/actors.hpp"

#include <set>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

void every_rank_is_itself() {
    const Actors actors(9, 3);
    check(actors.count() == 9 && actors.communicator_classes() == 3, "another count", 0);
    check(actors.classes() == nullptr, "classes where there are none", 0);
    for (u32 at = 0; at < actors.count(); ++at) {
        check(actors.rank(ActorId(at)) == RankId(at), "an actor is another rank", at);
        check(actors.of(RankId(at)) == ActorId(at), "a rank is another actor", at);
        check(actors.ranks_of(ActorId(at)) == 1, "a rank stands for others", at);
        check(actors.communicator_class(ActorId(at), 2) == 2, "a communicator is another one", at);
        check(actors.member(2, ActorId(at), [] { return 5u; }) == 5, "a member is another one", at);
        const Actors::Ends sends = actors.ends(ActorId(at), RankId(4), true);
        const Actors::Ends receives = actors.ends(ActorId(at), RankId(4), false);
        check(sends.src == at && sends.dst == 4 && receives.src == 4 && receives.dst == at,
              "a message has other ends", at);
    }
    check(actors.members(1, 6) == 6, "a communicator has other members", 0);
}

std::shared_ptr<const ActorClasses> any_classes(test::Random& random, u32 ranks) {
    auto made = std::make_shared<ActorClasses>();
    const u32 most = static_cast<u32>(1 + random.below(ranks));
    std::vector<u32> number(most, none);
    for (u32 rank = 0; rank < ranks; ++rank) {
        u32& own = number[random.below(most)];
        if (own == none) {
            own = static_cast<u32>(made->representative.size());
            made->representative.push_back(rank);
            made->count.push_back(0);
        }
        made->class_of.push_back(own);
        ++made->count[own];
    }
    made->communicator_classes.resize(2);
    for (u32 at = 0; at < made->representative.size(); ++at) {
        made->memberships.push_back({{0, 0}});
        made->communicator_classes[0].push_back(at);
        if (at % 2 == 0) {
            made->memberships.back().push_back({7, 1});
            made->communicator_classes[1].push_back(at);
        }
        made->channels.push_back({{at + 1, 2 * at, 2 * at + 1}});
    }
    return made;
}

void one_of_each_class_runs(test::Random& random) {
    const u32 ranks = static_cast<u32>(1 + random.below(40));
    const auto classes = any_classes(random, ranks);
    const Actors actors(classes);
    u64 sum = 0;
    for (u32 at = 0; at < actors.count(); ++at) {
        const ActorId actor(at);
        sum += actors.ranks_of(actor);
        check(actors.of(actors.rank(actor)) == actor, "the rank of an actor is another's", at);
        check(actors.communicator_class(actor, 0) == 0, "another class of all ranks", at);
        check(actors.member(0, actor, [] { return none; }) == at, "another member of all ranks", at);
        if (at % 2 == 0) {
            check(actors.communicator_class(actor, 7) == 1, "another communicator class", at);
            check(actors.member(1, actor, [] { return none; }) == at / 2, "another member", at);
        }
        const Actors::Ends sends = actors.ends(actor, RankId(at + 1), true);
        const Actors::Ends receives = actors.ends(actor, RankId(at + 1), false);
        check(sends.src == 2 * at && sends.dst == 2 * at, "a send has other ends", at);
        check(receives.src == 2 * at + 1 && receives.dst == 2 * at + 1, "a receive has other ends", at);
    }
    check(sum == ranks, "classes do not add up to all ranks", sum);
    check(actors.members(0, ranks) == actors.count(), "not all classes meet", 0);
    check(actors.members(1, ranks) == (actors.count() + 1) / 2, "other classes meet", 0);
    for (u32 rank = 0; rank < ranks; ++rank) {
        check(actors.rank(actors.of(RankId(rank))).index() <= rank, "not the lowest rank runs", rank);
    }
}

}  // namespace

int main() {
    every_rank_is_itself();
    test::Random random(0);
    for (u32 step = 0; step < 100; ++step) {
        one_of_each_class_runs(random);
    }
}
