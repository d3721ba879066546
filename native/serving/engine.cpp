#include "serving/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/ensure.hpp"

namespace yantra::serving {

namespace {

std::vector<EngineKind>& all_kinds() {
    static std::vector<EngineKind> all;
    return all;
}

}  // namespace

const std::vector<EngineKind>& engine_kinds() { return all_kinds(); }

const EngineKind* find_engine(std::string_view name) {
    const auto& all = all_kinds();
    const auto found = std::find_if(all.begin(), all.end(), [&](const EngineKind& of) { return of.name == name; });
    return found == all.end() ? nullptr : &*found;
}

double option_of(const EngineKind& kind, const EngineOptions& given, std::string_view name) {
    if (const auto found = given.find(std::string(name)); found != given.end()) {
        return found->second;
    }
    for (const EngineOption& option : kind.options) {
        if (option.name == name) {
            return option.fallback;
        }
    }
    fail("an option that the engine does not have");
}

RegisteredEngine::RegisteredEngine(EngineKind kind) {
    auto& all = all_kinds();
    const auto place = std::find_if(all.begin(), all.end(), [&](const EngineKind& of) { return of.name > kind.name; });
    std::vector<EngineKind> sorted;
    for (auto at = all.begin(); at != place; ++at) {
        sorted.push_back(std::move(*at));
    }
    sorted.push_back(std::move(kind));
    for (auto at = place; at != all.end(); ++at) {
        sorted.push_back(std::move(*at));
    }
    all = std::move(sorted);
}

}  // namespace yantra::serving
