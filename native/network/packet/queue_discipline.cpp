#include "network/packet/queue_discipline.hpp"

#include <algorithm>
#include <utility>

#include "base/vector.hpp"

namespace yantra::packet {

namespace {

Vector<Discipline>& registered_disciplines() {
    static Vector<Discipline> all;
    return all;
}

}  // namespace

RegisteredDiscipline::RegisteredDiscipline(Discipline discipline) {
    Vector<Discipline>& all = registered_disciplines();
    const auto at = std::find_if(all.begin(), all.end(), [&](const Discipline& d) { return d.name > discipline.name; });
    all.insert(at, std::move(discipline));
}

const Vector<Discipline>& disciplines() { return registered_disciplines(); }

const Discipline* find_discipline(std::string_view name) {
    for (const Discipline& discipline : disciplines()) {
        if (discipline.name == name) {
            return &discipline;
        }
    }
    return nullptr;
}

}  // namespace yantra::packet
