// Orca: iterations that requests enter and leave singly, whole prompts beside decodes. Rules of
// Vidur 7d47513 (orca_replica_scheduler.py), as are the golden schedules. Yu et al., "Orca", OSDI
// 2022, algorithm 1.
#include <memory>

#include "serving/reserving.hpp"

namespace yantra::serving {

namespace {

class Orca final : public ReservingEngine {
public:
    Orca(const Place& place, const EngineKind& kind, const EngineOptions& given)
        : ReservingEngine(place, kind, given) {}

protected:
    void fills(Time now, Batch& batch) override {
        go_on(batch, running_.size());
        admit(now, batch);
    }
};

std::unique_ptr<Engine> make_orca(const Engine::Place& place, const EngineOptions& given) {
    return std::make_unique<Orca>(place, *find_engine("orca"), given);
}

const RegisteredEngine registered_orca({
    "orca",
    "Orca: whole prompts beside decodes; each sequence reserves blocks for the longest",
    make_orca,
    reserving_options(),
    true,
});

}  // namespace

}  // namespace yantra::serving
