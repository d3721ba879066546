#include "network/packet/queue_discipline.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace yantra::packet {

namespace {

std::vector<Discipline>& registered_disciplines() {
    static std::vector<Discipline> all;
    return all;
}

}  // namespace

RegisteredDiscipline::RegisteredDiscipline(Discipline discipline) {
    std::vector<Discipline>& all = registered_disciplines();
    const auto at = std::find_if(all.begin(), all.end(), [&](const Discipline& d) { return d.name > discipline.name; });
    all.insert(at, std::move(discipline));
}

const std::vector<Discipline>& disciplines() { return registered_disciplines(); }

const Discipline* find_discipline(std::string_view name) {
    for (const Discipline& discipline : disciplines()) {
        if (discipline.name == name) {
            return &discipline;
        }
    }
    return nullptr;
}

}  // namespace yantra::packet
