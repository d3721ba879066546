#include "collective/parameters.hpp"

#include "base/ensure.hpp"

namespace yantra {

namespace {

Place place_among(const CollectiveParameters& parameters, u32 communicator, u32 rank) {
    const Communicator& among = parameters.communicators[communicator];
    const Shape& shape = *parameters.layouts[among.layout].shape;
    Place place;
    place.size = shape.size();
    place.stride = shape.stride();
    place.base = among.base;
    place.position = shape.position(rank - among.base);
    place.offsets = shape.listed();
    ensure(place.position != none, "rank is not in its communicator");
    return place;
}

}  // namespace

Place place_on(const CollectiveParameters& parameters, const Plan& plan, u32 level_index, u32 communicator, u32 rank) {
    if (plan.over_members) {
        return place_among(parameters, communicator, rank);
    }
    const Level& level = plan.levels[level_index];
    Place place;
    place.size = level.size;
    place.index_stride = level.index_stride;
    if (level.members != nullptr) {
        const u32 first = parameters.communicators[communicator].base / level.stride % level.extent;
        const u32 distance = rank / level.stride % level.extent - first;
        place.position = level.members->position(distance);
        ensure(place.position != none, "rank is not on its level");
        place.base = rank - distance * level.stride;
        place.stride = level.members->stride() * level.stride;
        place.offsets = level.members->listed();
        place.unit = level.stride;
        return place;
    }
    place.stride = level.stride;
    place.position = rank / level.stride % level.size;
    place.base = rank - place.position * level.stride;
    return place;
}

}  // namespace yantra
