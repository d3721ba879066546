// Actors: who runs: every rank, or one for each class of ranks that do the same. Communicators
// where the same classes meet form one class. A message to a rank reaches that rank's actor as the
// message of its own peer.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/ids.hpp"

namespace yantra {

struct ActorClasses {
    struct Channel {
        u32 peer;
        u32 out;
        u32 in;
    };
    struct Membership {
        u32 communicator;
        u32 communicator_class;
    };

    std::vector<u32> class_of;          // by rank
    std::vector<u32> representative;    // by class: its lowest rank
    std::vector<u64> count;             // by class: its ranks
    std::vector<std::vector<Channel>> channels;            // by class
    std::vector<std::vector<Membership>> memberships;      // by class
    std::vector<std::vector<u32>> communicator_classes;    // the classes that meet, ascending

    u32 communicator_class(u32 of_class, u32 communicator) const {
        for (const Membership& membership : memberships[of_class]) {
            if (membership.communicator == communicator) {
                return membership.communicator_class;
            }
        }
        fail("a communicator that the class is not in");
    }
    u32 place_in(u32 communicator_class, u32 of_class) const {
        const std::vector<u32>& classes = communicator_classes[communicator_class];
        const auto found = std::lower_bound(classes.begin(), classes.end(), of_class);
        ensure(found != classes.end() && *found == of_class, "a class that is not in its communicators");
        return static_cast<u32>(found - classes.begin());
    }
    const Channel& channel(u32 of_class, u32 peer) const {
        for (const Channel& channel : channels[of_class]) {
            if (channel.peer == peer) {
                return channel;
            }
        }
        fail("a peer without a channel");
    }
};

class Actors {
public:
    struct Ends {
        u32 src;
        u32 dst;
    };

    Actors(u32 ranks, u32 communicators) : count_(ranks), communicator_classes_(communicators) {}
    explicit Actors(std::shared_ptr<const ActorClasses> classes)
        : count_(static_cast<u32>(classes->representative.size())),
          communicator_classes_(static_cast<u32>(classes->communicator_classes.size())),
          classes_(std::move(classes)) {}

    u32 count() const { return count_; }
    RankId rank(ActorId actor) const {
        return RankId(classes_ ? classes_->representative[actor.index()] : actor.index());
    }
    ActorId of(RankId rank) const {
        return ActorId(classes_ ? classes_->class_of[rank.index()] : rank.index());
    }
    u64 ranks_of(ActorId actor) const { return classes_ ? classes_->count[actor.index()] : 1; }

    u32 communicator_classes() const { return communicator_classes_; }
    u32 communicator_class(ActorId actor, u32 communicator) const {
        return classes_ ? classes_->communicator_class(actor.index(), communicator) : communicator;
    }
    u32 members(u32 communicator_class, u32 ranks) const {
        return classes_ ? static_cast<u32>(classes_->communicator_classes[communicator_class].size())
                        : ranks;
    }
    // `own()`: where every rank is an actor.
    template <class Own>
    u32 member(u32 communicator_class, ActorId actor, Own&& own) const {
        return classes_ ? classes_->place_in(communicator_class, actor.index()) : own();
    }

    Ends ends(ActorId actor, RankId peer, bool sends) const {
        if (!classes_) {
            return sends ? Ends{actor.index(), peer.index()} : Ends{peer.index(), actor.index()};
        }
        const ActorClasses::Channel& channel = classes_->channel(actor.index(), peer.index());
        return sends ? Ends{channel.out, channel.out} : Ends{channel.in, channel.in};
    }

    const ActorClasses* classes() const { return classes_.get(); }

private:
    u32 count_;
    u32 communicator_classes_;
    std::shared_ptr<const ActorClasses> classes_;
};

}  // namespace yantra
