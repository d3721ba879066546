"""The modules of STG's models in our own words, without a checkout of STG."""
