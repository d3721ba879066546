// Actors: who runs: every rank, or one for each class of ranks that do the same.
//
// The engine knows only actors; an actor's rank answers questions of place, and its number of ranks
// counts. Communicators where the same classes meet form one communicator class, with classes as
// members. A message from an actor to a rank reaches that rank's actor as the message of that
// actor's own peer.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "base/ensure.hpp"
#include "base/ids.hpp"
#include "base/vector.hpp"

namespace yantra {

struct ActorClasses {
    // Both ends of the messages with one peer, as the matcher distinguishes them.
    struct Channel {
        u32 peer;
        u32 out;
        u32 in;
    };
    struct Membership {
        u32 communicator;
        u32 communicator_class;
    };

    Vector<u32> class_of;          // by rank
    Vector<u32> representative;    // by class: its lowest rank
    Vector<u64> count;             // by class: its ranks
    Vector<Vector<Channel>> channels;            // by class
    Vector<Vector<Membership>> memberships;      // by class
    Vector<Vector<u32>> communicator_classes;    // the classes that meet, ascending

    u32 communicator_class(u32 of_class, u32 communicator) const {
        for (const Membership& membership : memberships[of_class]) {
            if (membership.communicator == communicator) {
                return membership.communicator_class;
            }
        }
        fail("a communicator that the class is not in");
    }
    u32 place_in(u32 communicator_class, u32 of_class) const {
        const Vector<u32>& classes = communicator_classes[communicator_class];
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

    // Every rank; each communicator is its own class.
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

    // Null where every rank is an actor.
    const ActorClasses* classes() const { return classes_.get(); }

private:
    u32 count_;
    u32 communicator_classes_;
    std::shared_ptr<const ActorClasses> classes_;
};

}  // namespace yantra
