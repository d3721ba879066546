// JointPhases: who has come to a joint phase.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ensure.hpp"
#include "collective/exchange/phase_times.hpp"
#include "fold/rank_classes.hpp"
#include "fold/shortcuts/joint_phase.hpp"

namespace yantra {

class JointPhases {
public:
    struct Held {
        JointPhase form;
        u64 times = 0;
        u64 marked = 0;   // of them
    };

    // Null without such a form; `find` is called the first time.
    template <class Find>
    Held* held(const ClosedForms::Key& key, Find&& find) {
        if (const auto known = known_.find(key); known != known_.end()) {
            return known->second;
        }
        Held* const found = shared(key, find());
        known_.emplace(key, found);
        if (found != nullptr) {
            ClosedForms::Key of_other = key;
            for (const u32 other : found->form.classes()) {
                of_other.rank = other;
                known_.emplace(of_other, found);
            }
        }
        return found;
    }

    void come(Held& held, const PhaseInput& input, ChunkId chunk, u64 now,
              std::vector<KnownEnd>& ends) {
        const JointPhase& form = held.form;
        const u32 at = open(input, form);
        Open& open = opened_[at];
        const u32 column = form.column_of(input.actor.index());
        open.here[column] = {input.actor, chunk};
        open.starts[column] = now;
        if (++open.come < form.classes().size()) {
            return;
        }
        form.ends(open.starts, ticks_, gone_);
        for (std::size_t one = 0; one < ticks_.size(); ++one) {
            ends.push_back({open.here[one].actor, open.here[one].chunk, ticks_[one] - now});
        }
        ++held.times;
        std::vector<u32>& of = of_table_[input.table];
        of.erase(std::find(of.begin(), of.end(), at));
        free_.push_back(at);
    }

    void go_on(Held& held, std::vector<KnownEnd>& ends) {
        starts_.clear();
        for (const KnownEnd& end : ends) {
            starts_.push_back(end.ticks);
        }
        held.form.ends(starts_, ticks_, gone_);
        for (std::size_t at = 0; at < ends.size(); ++at) {
            ends[at].ticks = ticks_[at];
        }
        ++held.times;
    }

    bool somebody_waits() const { return free_.size() < opened_.size(); }

    void add_to(u64& messages, std::vector<LinkUse>& dimensions,
                const ActorClasses& classes) const {
        for (const auto& [key, held] : held_) {
            for (u32 column = 0; column < held->form.classes().size(); ++column) {
                const u64 all = classes.count[held->form.classes()[column]] * held->times;
                messages += held->form.messages() * all;
                const std::vector<LinkUse>& use = held->form.use(column);
                for (std::size_t d = 0; d < use.size(); ++d) {
                    dimensions[d].bytes += use[d].bytes * all;
                    dimensions[d].messages += use[d].messages * all;
                }
            }
        }
    }

    void mark() {
        for (auto& [key, held] : held_) {
            held->marked = held->times;
        }
    }
    void repeat(u64 times) {
        for (auto& [key, held] : held_) {
            held->times += (held->times - held->marked) * times;
        }
    }

private:
    struct Member {
        ActorId actor;
        ChunkId chunk;
    };
    struct Open {
        std::vector<Member> here;   // by column
        std::vector<u64> starts;    // ticks
        u32 come = 0;
        u32 phase = 0;              // of the table's chunks
        u32 lowest = none;          // of the classes
    };

    u32 open(const PhaseInput& input, const JointPhase& form) {
        if (of_table_.size() <= input.table) {
            of_table_.resize(input.table + std::size_t{1});
        }
        const u32 lowest = form.classes().front();
        for (const u32 at : of_table_[input.table]) {
            if (opened_[at].phase == input.phase && opened_[at].lowest == lowest) {
                return at;
            }
        }
        if (free_.empty()) {
            free_.push_back(static_cast<u32>(opened_.size()));
            opened_.emplace_back();
        }
        const u32 at = free_.back();
        free_.pop_back();
        Open& fresh = opened_[at];
        fresh.here.resize(form.classes().size());
        fresh.starts.resize(form.classes().size());
        fresh.come = 0;
        fresh.phase = input.phase;
        fresh.lowest = lowest;
        of_table_[input.table].push_back(at);
        return at;
    }

    Held* shared(ClosedForms::Key key, std::optional<JointPhase> found) {
        if (!found) {
            return nullptr;
        }
        const std::vector<u32> classes = found->classes();
        key.rank = classes.front();
        std::unique_ptr<Held>& held = held_[key];
        if (held == nullptr) {
            held = std::make_unique<Held>(Held{*std::move(found)});
        }
        ensure(held->form.classes() == classes, "a class in two joint phases of one communicator");
        return held.get();
    }

    std::unordered_map<ClosedForms::Key, Held*, ClosedForms::Hash> known_;
    std::unordered_map<ClosedForms::Key, std::unique_ptr<Held>, ClosedForms::Hash> held_;
    std::vector<Open> opened_;                 // and those of them that are over
    std::vector<u32> free_;
    std::vector<std::vector<u32>> of_table_;   // those of a table that are open
    std::vector<u64> ticks_;
    std::vector<u64> gone_;
    std::vector<u64> starts_;
};

}  // namespace yantra
