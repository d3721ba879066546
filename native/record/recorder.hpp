// Recorder: writes a Recording during a run; empty in a plain run. Moments are numbered as handled;
// an event's trail is the moment of scheduling and, for a message, its number.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/pool.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"
#include "record/recording.hpp"

namespace yantra {

struct RecordingTooLarge : std::runtime_error {
    using std::runtime_error::runtime_error;
};

namespace plain {

struct Trail {};
struct MomentList;

struct Recorder {
    struct Scope {
        explicit Scope(Recorder&) {}
    };
    static constexpr Trail trail{};
};

}  // namespace plain

namespace recorded {

struct Trail {
    u32 cause = none;
    u32 detail = none;
};

// A list of moments, oldest first.
struct MomentList {
    u32 first = none;
    u32 last = none;
    bool empty() const { return first == none; }
};

class Recorder {
public:
    Trail trail;        // of what is scheduled now
    u32 owner = none;   // the node that sends and receives now
    u64 most_bytes = ~u64{0};

    class Scope {
    public:
        explicit Scope(Recorder& recorder) : recorder_(recorder), cause_(recorder.trail.cause) {}
        ~Scope() {
            recorder_.trail.cause = cause_;
            recorder_.pure_ = false;
        }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        Recorder& recorder_;
        u32 cause_;
    };

    // What follows waits for more than the present moment. With `whole`, all of the present event
    // does.
    class Join {
    public:
        Join(Recorder& recorder, u64 time, u32 subject, bool whole = false)
            : recorder_(recorder), time_(time), subject_(subject) {
            made_ = whole && recorder.pure_ && recorder.is_newest(recorder.trail.cause);
        }
        void with(u32 moment) {
            if (moment == none || moment == recorder_.trail.cause) {
                return;
            }
            if (!made_) {
                apart();
            }
            recorder_.edge(moment);
        }
        // Empties the list.
        void with_all(MomentList& list) {
            while (!list.empty()) {
                with(recorder_.pop(list));
            }
        }
        void apart() {
            recorder_.begin(time_, recorder_.trail.cause, Why::nothing, subject_, false);
            made_ = true;
        }

    private:
        Recorder& recorder_;
        u64 time_;
        u32 subject_;
        bool made_;
    };

    u32 now() const { return trail.cause; }

    // `pure`: all in it waits for all its causes.
    void begin(u64 time, u32 cause, Why why, u32 subject, bool pure) {
        const auto moment = static_cast<u32>(recording_.moments.size());
        if ((moment & 0xffff) == 0) {
            check_size();
        }
        recording_.moments.push_back({time, cause, Moment::tag(why, subject)});
        trail.cause = moment;
        pure_ = pure;
    }

    void edge(u32 from) { recording_.edges.push_back({trail.cause, from}); }

    void push(MomentList& list, u32 moment) {
        const u32 link = links_.take_as_left();
        links_[link] = {moment, none};
        (list.empty() ? list.first : links_[list.last].next) = link;
        list.last = link;
    }
    void push_first(MomentList& list, u32 moment) {
        const u32 link = links_.take_as_left();
        links_[link] = {moment, list.first};
        list.last = list.empty() ? link : list.last;
        list.first = link;
    }
    u32 pop(MomentList& list) {
        const u32 first = list.first;
        const Link link = links_[first];
        links_.give_back(first);
        list.first = link.next;
        return link.moment;
    }

    u32 message(u64 bytes, u32 destination, u32 tag) {
        recording_.messages.push_back({bytes, destination, tag, owner, none, trail.cause, none});
        trail.detail = static_cast<u32>(recording_.messages.size() - 1);
        return trail.detail;
    }
    void arrived(u32 subject) {
        recording_.messages[recording_.message_of(subject)].arrived = trail.cause;
    }
    void received_by(u32 message, u32 node) { recording_.messages[message].peer_node = node; }
    void hop(u32 message, u32 link, u32 other) {
        recording_.hops.push_back({message, link, trail.cause, other});
        trail.detail = static_cast<u32>(recording_.hops.size() - 1);
    }

    Recording& recording() { return recording_; }

private:
    struct Link {
        u32 moment = none;
        u32 next = none;
    };

    bool is_newest(u32 moment) const { return moment + u64{1} == recording_.moments.size(); }

    void check_size() const {
        constexpr u64 most = 0xfff00000u;   // that the indices allow
        const u64 subjects = std::max(recording_.messages.size(), recording_.hops.size());
        if (recording_.bytes() > most_bytes || recording_.moments.size() > most ||
            subjects + 0xffff > Moment::no_subject) {
            throw RecordingTooLarge("a recording too large");
        }
    }

    Recording recording_;
    Pool<Link> links_;
    bool pure_ = false;
};

}  // namespace recorded

}  // namespace yantra
