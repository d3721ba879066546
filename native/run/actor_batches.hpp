// ActorBatches: what actors do in one tick goes to its components.
#pragma once

#include <optional>

#include "collective/exchange/exchange.hpp"
#include "engine/component.hpp"
#include "engine/engine.hpp"
#include "memory/local_bandwidth.hpp"

namespace yantra::inline YANTRA_RUN {

// Trade-off: it knows the exchange, whose packets are most of what actors do.
class ActorBatches final : public Component {
public:
    ActorBatches(Engine& engine, const Components& components, Exchange& exchange, OrderWatcher* watcher)
        : engine_(engine), components_(components), exchange_(exchange), watcher_(watcher) {}

    void handle(const Event& event) override {
        RankEvents& events = engine_.of_ranks;
        if (watcher_ != nullptr || !events.begins_with(event.index, Owner::exchange)) [[unlikely]] {
            handle_all(event.index);
            return;
        }
        exchange_.handle_first(ActorId(event.index));
        if (!events.is_over()) [[unlikely]] {
            finish();
        }
    }
    u32 handle_run(const EventRun& run, u32 at, u32 until) override {
        const u32 first = at;
        if (watcher_ == nullptr) {
            at = exchange_.handle_of_ranks(run, at, until);
            if (engine_.of_ranks.is_running()) {
                finish();
                return at + 1;
            }
        }
        return at > first ? at : Component::handle_run(run, at, until);
    }

private:
    [[gnu::always_inline]] u32 handle(ActorId actor, const RankEvent& event, u32 count) {
        Component& owner = components_[event.kind.owner()];
        if (watcher_ != nullptr) [[unlikely]] {
            watcher_->event_begins();
            count = 1;
        }
        if (count > 1) {
            return owner.handle_many(actor, event, count);
        }
        owner.handle_of_actor(actor, event);
        return 1;
    }
    [[gnu::noinline]] void handle_all(u32 batch) {
        engine_.of_ranks.run(batch, [this](ActorId actor, const RankEvent& event, u32 count) {
            return handle(actor, event, count);
        });
    }
    [[gnu::noinline]] void finish() {
        engine_.of_ranks.finish([this](ActorId actor, const RankEvent& event, u32 count) {
            return handle(actor, event, count);
        });
    }

    Engine& engine_;
    const Components& components_;
    Exchange& exchange_;
    OrderWatcher* watcher_;
};

class DueWork final : public Component {
public:
    DueWork(LocalBandwidth& local, const Components& components) : local_(local), components_(components) {}

    void handle_of_actor(ActorId actor, const RankEvent& event) override {
        if (const std::optional<RankEvent> due = local_.due(actor, event)) {
            components_[due->kind.owner()].handle_of_actor(actor, *due);
        }
    }

private:
    LocalBandwidth& local_;
    const Components& components_;
};

}  // namespace yantra
